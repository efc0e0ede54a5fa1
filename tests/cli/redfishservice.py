# SPDX-License-Identifier: Apache-2.0
"""A board's Redfish service, for tests: DMTF's schema of a system, its Bios and the settings object of that, over
HTTPS, with the ETags and the errors of the specification (DSP0266). The resources have the form of DMTF's
own mock-up (public-rackmount1). PyPI has no service that serves here: the emulator of sushy-tools has a BIOS only with
libvirt, and DMTF's mock-up server is not there, and does not tell settings from what is active."""

import base64
import json
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SYSTEMS = "/redfish/v1/Systems"
SYSTEM = f"{SYSTEMS}/Self"
BIOS = f"{SYSTEM}/Bios"
SETTINGS = f"{BIOS}/Settings"
USER, PASSWORD = "slurm", 'hunter2 "\\'
VALUES = {"MemoryMode": ["Flat", "Cache", "Hybrid", "Hbm Only"], "BootMode": ["Uefi", "Bios"]}


def make_certificate(folder, name, host):
    """A certificate that signs itself. Returns its file; the key is in it, too."""
    files = [folder / f"{name}.{part}" for part in ("key", "crt")]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}", "-days", "2"]
    subprocess.run([*command, "-keyout", files[0], "-out", files[1]], capture_output=True, check=True)
    return files[1]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, **headers):
        text = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def fail(self, status, number, message):
        said = {"@odata.type": "#Message.v1_1_2.Message", "MessageId": f"Base.1.8.{number}", "Message": message}
        self.answer(status, {"error": {"code": "Base.1.8.GeneralError", "@Message.ExtendedInfo": [said]}})

    def is_known(self):
        told = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers["Authorization"] == f"Basic {told}":
            return True
        self.fail(401, "NoValidSession", "There is no valid session established with the implementation.")
        return False

    def is_busy(self):
        busy = self.server.service.busy
        if busy:
            self.fail(busy.pop(0), "ServiceTemporarilyUnavailable", "The service is temporarily unavailable.")
            return True
        return False

    def do_GET(self):
        service = self.server.service
        service.asked.append(("GET", self.path))
        odd = service.odd.get(self.path)
        if self.is_busy():
            pass
        elif odd == "hangs":
            service.ended.wait(60)
        elif isinstance(odd, bytes):
            self.answer(200, odd)
        elif isinstance(odd, int):
            self.answer(odd, {}, Location="http://127.0.0.1:1/")
        elif self.is_known():
            shown = service.resource(self.path)
            tag = {"ETag": service.etag()} if self.path == SETTINGS and service.tells_etag else {}
            if shown is None:
                self.fail(404, "ResourceMissingAtURI", f"The resource at the URI {self.path} was not found.")
            else:
                self.answer(200, shown, **tag)

    def do_PATCH(self):
        service = self.server.service
        change = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        service.asked.append(("PATCH", self.path, change))
        if self.is_busy() or not self.is_known():
            return
        if service.meddles > 0:  # somebody else changes something meanwhile
            service.meddles -= 1
            service.version += 1
        name, value = next(iter(change["Attributes"].items()))
        if self.headers["If-Match"] != service.etag():
            status = 428 if self.headers["If-Match"] is None else 412
            self.fail(status, "PreconditionFailed", "The ETag supplied did not match the ETag of the resource.")
        elif value not in service.allowed[name]:
            self.fail(400, "PropertyValueNotInList", f"The value '{value}' for the property {name} is not acceptable.")
        else:
            if not service.ignores:
                service.change(name, value)
            self.answer(service.status, None if service.status == 204 else {})


class Service:
    """A board in a mode. What it does wrong is set by the test."""

    def __init__(self, certificate):
        self.active = {"AdminPhone": "", "BootMode": "Uefi", "MemoryMode": "Flat", "ProcCoreDisable": 0}
        self.pending = {}
        self.allowed = {name: list(values) for name, values in VALUES.items()}
        self.version, self.meddles, self.status = 1, 0, 204
        self.ignores, self.tells_all, self.tells_etag, self.apply_times = False, True, True, None
        self.members = [SYSTEM]
        self.shows_late, self.late = False, []  # changes that are taken, and show at the boot only
        self.odd = {}  # by path: a status, the bytes of an answer, or "hangs"
        self.busy = []  # statuses of the next answers
        self.asked = []
        self.ended = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.service, self.server.daemon_threads = self, True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def end(self):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()

    def etag(self):
        return f'W/"{self.version}"'

    def change(self, name, value):
        if self.shows_late:
            self.late.append((name, value))
            return
        self.pending[name] = value
        self.version += 1
        if self.active[name] == value:
            del self.pending[name]

    def boot(self):
        self.active.update({**self.pending, **dict(self.late)})
        self.pending = {}
        self.version += 1

    def changes(self):
        """The values of the mode that were asked for."""
        return [words[2]["Attributes"]["MemoryMode"] for words in self.asked if words[0] == "PATCH"]

    def resource(self, path):
        bios = {"@odata.type": "#Bios.v1_2_0.Bios", "@odata.id": path, "Id": path.rpartition("/")[2]}
        settings = {"@odata.type": "#Settings.v1_3_5.Settings", "SettingsObject": {"@odata.id": SETTINGS}}
        if self.apply_times:
            settings["SupportedApplyTimes"] = self.apply_times
        later = {**self.active, **self.pending} if self.tells_all else self.pending
        return {
            SYSTEMS: {
                "@odata.type": "#ComputerSystemCollection.ComputerSystemCollection",
                "@odata.id": SYSTEMS,
                "Members": [{"@odata.id": member} for member in self.members],
                "Members@odata.count": len(self.members),
            },
            SYSTEM: {
                "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem",
                "@odata.id": SYSTEM,
                "Id": "Self",
                "Manufacturer": "Example Inc.",
                "Model": "EX-9480",
                "Bios": {"@odata.id": BIOS},
            },
            BIOS: {**bios, "Attributes": self.active, "@Redfish.Settings": settings},
            SETTINGS: {**bios, "Attributes": later, "@odata.etag": self.etag()},
        }.get(path)
