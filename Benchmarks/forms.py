#!/usr/bin/env python3
"""Measures how fast a large form is received and hashed, beside Go's `multipart.Reader` (golang-go), and the peak memory.

usage: Benchmarks/forms.py BLOB [--size GIB] [--runs N]

The form has one part. Both servers compute its SHA-256 and store nothing. Prints medians, and the ratio of the rates;
the goals are a ratio of at least 0.9, and at most 24 MiB. The exit status is 1 if a digest is wrong.
"""
import argparse, contextlib, hashlib, json, os, shutil, socket, statistics, subprocess, sys, tempfile, time

parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
parser.add_argument('blob')
parser.add_argument('--size', type=int, default=10, help='GiB of the part (default 10)')
parser.add_argument('--runs', type=int, default=3, help='counted runs of each server (default 3)')
options = parser.parse_args()
PIECE = b''.join(hashlib.sha512(bytes([i % 256, i // 256])).digest() for i in range(1 << 14))  # 1 MiB
COUNT = options.size << 10

GO = '''package main
import ("crypto/sha256"; "fmt"; "io"; "net"; "net/http")
func main() {
    http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
        reader, err := r.MultipartReader()
        if err != nil { http.Error(w, err.Error(), 400); return }
        for {
            part, err := reader.NextPart()
            if err == io.EOF { break }
            if err != nil { http.Error(w, err.Error(), 400); return }
            hash := sha256.New()
            count, err := io.CopyBuffer(hash, part, make([]byte, 1<<18))
            if err != nil { http.Error(w, err.Error(), 400); return }
            fmt.Fprintf(w, "{\\"byte_count\\":%d,\\"sha256\\":\\"%x\\"}\\n", count, hash.Sum(nil))
        }
    })
    listener, err := net.Listen("tcp", "127.0.0.1:0")
    if err != nil { panic(err) }
    fmt.Printf("http://%s/\\n", listener.Addr())
    panic(http.Serve(listener, nil))
}
'''


@contextlib.contextmanager
def server(*command):
    """Yields a server's process and port."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process, int(process.stdout.readline().strip().rstrip('/').rpartition(':')[2])
    finally:
        process.kill()
        process.wait()


def peak_memory(process):
    """Returns the peak memory in MiB."""
    with open(f'/proc/{process.pid}/status') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmHWM:')) / 1024


def send(port):
    """Sends the form; returns the seconds and the answer."""
    start = b'--B\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
    end = b'\r\n--B--\r\n'
    length = len(start) + len(PIECE) * COUNT + len(end)
    with socket.create_connection(('127.0.0.1', port)) as connection:
        begin = time.perf_counter()
        connection.sendall(b'POST /x HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=B\r\n'
                           b'Connection: close\r\nContent-Length: %d\r\n\r\n' % length + start)
        for _ in range(COUNT):
            connection.sendall(PIECE)
        connection.sendall(end)
        answer = b''
        while piece := connection.recv(1 << 16):
            answer += piece
        return time.perf_counter() - begin, answer


expected = hashlib.sha256()
for _ in range(COUNT):
    expected.update(PIECE)
program = os.path.join(os.path.dirname(os.path.abspath(options.blob)), 'blob-receive')
failed, ratios, memory, rates = False, [], {}, {'Go': [], 'blob receive': []}
with tempfile.TemporaryDirectory() as folder:
    servers = {'blob receive': [program]}
    if shutil.which('go'):
        with open(f'{folder}/main.go', 'w') as file:
            file.write(GO)
        subprocess.run(['go', 'build', '-o', f'{folder}/forms', f'{folder}/main.go'], check=True,
                       env=os.environ | {'GOCACHE': f'{folder}/cache', 'GO111MODULE': 'off'})
        servers['Go'] = [f'{folder}/forms']
    for run in range(options.runs):
        for name, command in servers.items():
            with server(*command) as (process, port):
                seconds, answer = send(port)
                memory[name] = max(memory.get(name, 0), peak_memory(process))
            part = json.loads(answer.partition(b'\r\n\r\n')[2].split(b'\n')[1 if b'chunked' in answer.lower() else 0])
            failed = failed or part['sha256'] != expected.hexdigest()
            rates[name].append(len(PIECE) * COUNT / seconds / 1e6)
for name in servers:
    print(f'{name:14}{statistics.median(rates[name]):8.0f} MB/s, peak memory {memory[name]:.1f} MiB')
if 'Go' in servers:
    ratio = statistics.median(ours / theirs for ours, theirs in zip(rates['blob receive'], rates['Go']))
    print(f'ratio {ratio:.2f}' + (', a digest is wrong' if failed else ''))
sys.exit(failed)
