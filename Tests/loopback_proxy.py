"""A proxy on 127.0.0.1, for tests that interrupt connections."""
import socket, threading


class LoopbackProxy:
    """Passes connections on to a port. Subclasses copy the bytes of each direction."""

    def __init__(self, target=None):
        self.target, self.copies = target, []
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            try:
                server = socket.create_connection(('127.0.0.1', self.target))
            except OSError:
                client.close()
                continue
            for source, target, counts in ((client, server, True), (server, client, False)):
                copy = threading.Thread(target=self.copy, args=(source, target, counts), daemon=True)
                self.copies.append(copy)
                copy.start()

    @staticmethod
    def cut(*ends):
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
