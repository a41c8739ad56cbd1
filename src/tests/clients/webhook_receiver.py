"""Receives webhooks as somebody would who had only their specification: the library checks each signature.

webhook_receiver.py SECRET STATUSES [CERTIFICATE KEY]: answers with these statuses (with commas between them), the last one again
and again. Prints its port, then one JSON document for each request.
"""

import http.server
import json
import ssl
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

webhook = Webhook(sys.argv[1])
statuses = [int(status) for status in sys.argv[2].split(",")]


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            event, verified = webhook.verify(body, headers), True
        except WebhookVerificationError:
            event, verified = None, False
        status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        said = {"verified": verified, "event": event, "status": status, "path": self.path, "headers": headers}
        # Said before it is answered: whoever waits for the answer finds it said.
        print(json.dumps(said), flush=True)
        self.send_response(status)
        if status in (301, 302, 307, 308):
            self.send_header("location", "/elsewhere")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
