"""Serves an HTTP program of Python over TLS: `serve_tls.py CERTIFICATE PROGRAM ARGUMENTS…`."""

import http.server
import runpy
import ssl
import sys

certificate, program = sys.argv[1:3]


class TlsServer(http.server.ThreadingHTTPServer):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True)


http.server.ThreadingHTTPServer = TlsServer
sys.argv = sys.argv[2:]
runpy.run_path(program, run_name="__main__")
