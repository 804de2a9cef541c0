import Foundation

/// A program that runs a helper in a system that refuses to confine it, as some containers do.
package enum UnconfinedHelper {
    /// The system calls that confine a helper.
    package enum Calls: String, CaseIterable, Sendable {
        case filter = "('seccomp', 'prctl')"
        case limits = "('prlimit64', 'setrlimit')"
    }

    /// Makes the program, in which the system calls fail with EPERM; returns its path.
    package static func make(
        of program: String = "blob-archive-helper", in folder: TemporaryFolder, refusing calls: Calls
    ) throws -> String {
        let helper = productsFolder.appendingPathComponent(program).path
        let path = try folder.write(
            """
            #!/usr/bin/env python3
            import ctypes, os, struct, sys
            numbers = {
                'x86_64': {'seccomp': 317, 'prctl': 157, 'prlimit64': 302, 'setrlimit': 160},
                'aarch64': {'seccomp': 277, 'prctl': 167, 'prlimit64': 261, 'setrlimit': 164},
            }[os.uname().machine]
            # A filter of Berkeley packets: load the number of the call, compare it, return.
            def step(code, value, if_true=0, if_false=0): return struct.pack('HBBI', code, if_true, if_false, value)
            program = step(0x20, 0)
            for name in \(calls.rawValue): program += step(0x15, numbers[name], 0, 1) + step(0x06, 0x50001)
            program += step(0x06, 0x7FFF0000)
            steps = ctypes.create_string_buffer(program, len(program))
            header = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', len(program) // 8, ctypes.addressof(steps)))
            prctl = ctypes.CDLL(None, use_errno=True).prctl
            zero = ctypes.c_ulong(0)
            # PR_SET_NO_NEW_PRIVS, and PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
            if prctl(38, ctypes.c_ulong(1), zero, zero, zero) != 0: sys.exit('no privileges')
            if prctl(22, ctypes.c_ulong(2), ctypes.byref(header), zero, zero) != 0: sys.exit('no filter')
            os.execv('\(helper)', ['\(helper)'] + sys.argv[1:])

            """, to: "\(program)-\(calls)")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return path
    }
}
