#!/usr/bin/env python3
"""What `.ci/release` packs without a tool of its own: the same bytes for the same program and date.

pack.py wheel WHEEL SOURCE DATE [LIBRARY]   writes the wheel again: its SBOM without the path SOURCE, and with what Python loads
pack.py image FOLDER DATE ARCH OUT.tar      an OCI image of what lies in FOLDER, which runs /usr/bin/ipcperf
"""

import base64
import csv
import gzip
import hashlib
import io
import json
import pathlib
import sys
import tarfile
import time
import zipfile


def wheel(path, source, date, library=None):
    with zipfile.ZipFile(path) as old:
        files = [(info.filename, info.external_attr, old.read(info)) for info in old.infolist()]
    if library:
        name = "-".join(pathlib.Path(path).name.split("-")[:2])
        data = pathlib.Path(library).read_bytes()
        files.append((f"{name}.data/data/lib/ipcperf/libipcperf.so", 0o644 << 16, data))
    rows = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, mode, data in sorted(files):
            if name.endswith(".cyclonedx.json"):
                data = data.replace(source.encode(), b"/ipcperf")
            if name.endswith("/RECORD"):
                record, data = name, b""
                continue
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append([name, f"sha256={digest}", len(data)])
            add(new, name, mode, data, date)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*rows, [record, "", ""]])
        add(new, record, 0o644 << 16, text.getvalue().encode(), date)


def add(into, name, mode, data, date):
    info = zipfile.ZipInfo(name, time.gmtime(date)[:6])
    info.external_attr, info.compress_type = mode, zipfile.ZIP_DEFLATED
    into.writestr(info, data)


def image(folder, date, architecture, out):
    def plain(info):
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        info.mtime = date
        return info

    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w", format=tarfile.GNU_FORMAT) as files:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            files.add(path, str(path.relative_to(folder)), recursive=False, filter=plain)
    layer = layer.getvalue()
    packed = gzip.compress(layer, 9, mtime=0)
    blobs = {}

    def blob(data, kind):
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(date))
    config = {
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {"Entrypoint": ["/usr/bin/ipcperf"], "Env": ["PATH=/usr/bin"], "WorkingDir": "/tmp"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": created, "created_by": "ipcperf"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(config, "config.v1+json"),
        "layers": [blob(packed, "layer.v1.tar+gzip")],
    }
    named = {"org.opencontainers.image.ref.name": "ipcperf:latest", "io.containerd.image.name": "docker.io/library/ipcperf:latest"}
    index = {"schemaVersion": 2, "manifests": [{**blob(manifest, "manifest.v1+json"), "annotations": named}]}
    files = {f"blobs/sha256/{digest}": data for digest, data in blobs.items()}
    files |= {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": json.dumps(index).encode()}
    with tarfile.open(out, "w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in sorted(files.items()):
            info = plain(tarfile.TarInfo(name))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


match sys.argv[1:]:
    case ["wheel", path, source, date, *library]:
        wheel(path, source, int(date), *library)
    case ["image", folder, date, architecture, out]:
        image(folder, int(date), architecture, out)
    case _:
        sys.exit(__doc__)
