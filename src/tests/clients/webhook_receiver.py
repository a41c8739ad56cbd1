"""A webhook receiver that verifies signatures with the library of the Standard Webhooks specification.

webhook_receiver.py SECRET STATUSES [CERTIFICATE KEY]: responds with the statuses (separated by commas) in turn and
repeats the last one. Prints its port, then one JSON document for each request.
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
        record = {"verified": verified, "event": event, "status": status, "path": self.path, "headers": headers, "body": json.loads(body)}
        # Printed before the response is sent, so that a test that has seen the response finds the record.
        print(json.dumps(record), flush=True)
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
