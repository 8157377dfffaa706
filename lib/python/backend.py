# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Build backend (PEP 517) of this package: it needs nothing that pip would have to fetch.

The version is that of the tree.
"""
import base64
import hashlib
import pathlib
import zipfile

NAME = "rmc"
HERE = pathlib.Path(__file__).resolve().parent


def _version():
    return (HERE.parent.parent / "VERSION").read_text(encoding="ascii").strip()


def _files():
    """(name in the wheel, bytes) of all but RECORD"""
    info = f"{NAME}-{_version()}.dist-info"
    for path in sorted((HERE / NAME).glob("*.py")):
        yield f"{NAME}/{path.name}", path.read_bytes()
    yield f"{info}/METADATA", (
        f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {_version()}\n"
        "Summary: Remote memory of Scale-Out NUMA, through librmc\n"
        "License: LGPL-2.1 OR MIT\nRequires-Python: >=3.9\n").encode()
    yield f"{info}/WHEEL", (
        "Wheel-Version: 1.0\nGenerator: rmc\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n").encode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Called by pip: write the wheel, give its name."""
    name = f"{NAME}-{_version()}-py3-none-any.whl"
    record = f"{NAME}-{_version()}.dist-info/RECORD"
    lines = []
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as z:
        for path, data in _files():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
            lines.append(f"{path},sha256={digest.decode()},{len(data)}\n")
            z.writestr(path, data)
        z.writestr(record, "".join(lines) + f"{record},,\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Its version is in the library's tree, so there is no package of sources alone."""
    raise NotImplementedError("build a wheel, from the tree")
