#!/usr/bin/env python3
"""Installs a Debian package of the command in an empty root, runs it there, and removes it. Needs no network.

usage: Tests/check_deb.py PACKAGE

The root holds the files of the packages that the package depends on, copied from this machine, and nothing else: a
missing dependency is a program that does not start. The recommended packages follow, and with them what they decode.
"""
import gzip, hashlib, io, lzma, os, re, shutil, subprocess, sys, tarfile, tempfile


def output(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def field(package, name):
    """Returns the packages of a field of the package file; of alternatives the first one that is installed here."""
    names = []
    for entry in filter(None, output('dpkg-deb', '--field', package, name).split(',')):
        candidates = [re.split(r'[ (:]', candidate.strip())[0] for candidate in entry.split('|')]
        names.append(next(name for name in candidates if status(name)))
    return names


def status(name):
    """Returns the entry of an installed package in the database of dpkg; None when it is not installed."""
    result = subprocess.run(['dpkg-query', '--status', name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)
    return result.stdout if result.returncode == 0 and 'ok installed' in result.stdout else None


def provider(name):
    """Returns the installed package that provides a virtual package."""
    lines = output('dpkg-query', '--show', '--showformat', '${Package}\t${Provides}\n').splitlines()
    rows = (line.split('\t') for line in lines)
    return next((package for package, provided in rows if re.search(rf'\b{re.escape(name)}\b', provided)), None)


def closure(names):
    """Returns the packages and all those that they depend on, with their entries."""
    found, rest = {}, list(names)
    while rest:
        name = rest.pop()
        entry = status(name) or status(provider(name) or '')
        if not entry or (name := re.search(r'^Package: (.*)$', entry, re.M)[1]) in found:
            continue
        found[name] = entry
        for line in re.findall(r'^(?:Pre-)?Depends: (.*)$', entry, re.M):
            for alternatives in line.split(','):
                candidates = [re.split(r'[ (:]', candidate.strip())[0] for candidate in alternatives.split('|')]
                rest.append(next((name for name in candidates if status(name)), candidates[0]))
    return found


def add_packages(root, packages):
    """Copies the files of packages of this machine, and writes their entries into the database of the root."""
    for name, entry in packages.items():
        for path in output('dpkg-query', '--listfiles', name).splitlines():
            target = root + path
            if os.path.isdir(path) and not os.path.islink(path):
                os.makedirs(target, exist_ok=True)
            elif os.path.lexists(path) and not os.path.lexists(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy2(path, target, follow_symlinks=False)
        with open(f'{root}/var/lib/dpkg/status', 'a') as database:
            database.write(entry.rstrip('\n') + '\n\n')
        is_multiple = re.search(r'^Multi-Arch: same$', entry, re.M)
        architecture = ':' + output('dpkg', '--print-architecture').strip() if is_multiple else ''
        with open(f'{root}/var/lib/dpkg/info/{name}{architecture}.list', 'w') as files:
            files.write(output('dpkg-query', '--listfiles', name))
    subprocess.run(['/sbin/ldconfig', '-r', root], check=True)


def make_root(root):
    for name in ('bin', 'lib', 'lib32', 'lib64', 'libx32', 'sbin'):
        if os.path.islink(f'/{name}'):
            os.symlink(os.readlink(f'/{name}'), f'{root}/{name}')
            os.makedirs(f'{root}/usr/{name}', exist_ok=True)
    for name in ('info', 'updates', 'triggers'):
        os.makedirs(f'{root}/var/lib/dpkg/{name}')
    open(f'{root}/var/lib/dpkg/status', 'w').close()
    for name in ('tmp', 'dev', 'etc', 'proc', 'work'):
        os.makedirs(f'{root}/{name}')
    open(f'{root}/dev/null', 'w').close()


def dpkg(root, *arguments):
    subprocess.run(['dpkg', f'--root={root}', '--force-not-root', *arguments], check=True, stdout=subprocess.DEVNULL)


def run_inside(root, *argv):
    """Runs a program in the root, with `/proc`, where Swift finds the arguments of a program."""
    # Mounted for this process alone, so that nothing is mounted when the root is removed.
    mounts = 'mount --rbind /proc "$0/proc" && mount --bind /dev/null "$0/dev/null" && exec chroot "$0" "$@"'
    return subprocess.run(['unshare', '--mount', 'sh', '-c', mounts, root, *argv], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)


def blob(root, *arguments, expected=0):
    """Runs the command in the root; returns what it prints."""
    result = run_inside(root, '/usr/bin/blob', *arguments)
    if result.returncode != expected:
        sys.exit(f'blob {" ".join(arguments)}: status {result.returncode}, not {expected}\n{result.stderr.decode()}')
    return result.stdout


def write_files(folder):
    """Writes numbers as a gzip, as a member of a tar.gz, and as an xz; returns the numbers."""
    numbers = b''.join(b'%d\n' % number for number in range(100_000))
    with open(f'{folder}/numbers.gz', 'wb') as file:
        file.write(gzip.compress(numbers))
    with open(f'{folder}/numbers.xz', 'wb') as file:
        file.write(lzma.compress(numbers))
    with tarfile.open(f'{folder}/numbers.tgz', 'w:gz') as archive:
        member = tarfile.TarInfo('folder/numbers')
        member.size = len(numbers)
        archive.addfile(member, io.BytesIO(numbers))
    return numbers


def check(package, root):
    make_root(root)
    numbers = write_files(f'{root}/work')
    depends = closure(field(package, 'Depends'))
    add_packages(root, depends)
    dpkg(root, '--install', package)
    programs = [path for path in output('dpkg', f'--root={root}', '--listfiles', 'blobstreams').splitlines()
                if path.startswith('/usr/bin/')]
    print(f'installed beside {" ".join(sorted(depends))}: {" ".join(programs)}')
    for program in programs:
        # A helper ends at once; a program whose library is missing does not start: status 127.
        result = run_inside(root, program, '--help')
        if result.returncode in (126, 127) or b'shared librar' in result.stderr:
            sys.exit(f'{program} does not start: {result.stderr.decode()}')

    if blob(root, 'cat', 'gzip+/work/numbers.gz') != numbers:
        sys.exit('gzip+ gave other bytes')
    digest = hashlib.sha256(numbers).hexdigest()
    if not blob(root, 'sum', '/work/numbers.tgz#folder/numbers').startswith(digest.encode()):
        sys.exit('the member of an archive has another digest')
    blob(root, 'library', 'create', '--library', '/work/library')
    blob(root, 'cat', 'xz+/work/numbers.xz', expected=UNAVAILABLE)
    print('runs without the recommended packages, and says that xz is not available')

    recommended = closure(field(package, 'Recommends'))
    more = {name: entry for name, entry in recommended.items() if name not in depends}
    add_packages(root, more)
    if blob(root, 'cat', 'xz+/work/numbers.xz') != numbers:
        sys.exit('xz+ gave other bytes')
    print(f'decodes xz with the recommended packages, {len(more)} with what they depend on')

    dpkg(root, '--purge', 'blobstreams')
    left = [path for path in programs + ['/usr/share/doc/blobstreams'] if os.path.lexists(root + path)]
    if left:
        sys.exit(f'left after the removal: {left}')
    print('removed, nothing is left')


UNAVAILABLE = 69
if __name__ == '__main__':
    if os.geteuid() != 0:
        # Root of a user namespace of its own: chroot(2) needs no more.
        os.execvp('unshare', ['unshare', '--map-root-user', '--mount', sys.executable, *sys.argv])
    with tempfile.TemporaryDirectory() as root:
        check(os.path.abspath(sys.argv[1]), root)
