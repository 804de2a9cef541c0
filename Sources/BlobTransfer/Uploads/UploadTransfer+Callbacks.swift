import BlobPlatform
import CCurl

// The callbacks of libcurl, which are called on the thread of the loop. The handle retains the transfer.
extension UploadTransfer {
    func setCallbacks(_ handle: CurlHandle) {
        let this = Unmanaged.passUnretained(self).toOpaque()
        for option in [
            CURLOPT_READDATA, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_XFERINFODATA,
            CURLOPT_PREREQDATA,
        ] {
            handle.set(option, this)
        }
        handle.setReader { buffer, size, count, data in
            guard let buffer, let transfer = transfer(data) else { return Int(CURL_READFUNC_ABORT) }
            return transfer.supply(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
        }
        // A rewind would send the body again, to a server that may have accepted the first one: never.
        handle.setSeeker { _, _, _ in CURL_SEEKFUNC_FAIL }
        // With CURLOPT_HEADERDATA alone, the lines of the head would be passed to the write function.
        handle.setWriter(CURLOPT_HEADERFUNCTION) { buffer, size, count, data in
            let line = UnsafeRawBufferPointer(start: buffer, count: size * count)
            return transfer(data)?.takeLine(line) == true ? line.count : 0
        }
        handle.setWriter(CURLOPT_WRITEFUNCTION) { buffer, size, count, data in
            let bytes = UnsafeRawBufferPointer(start: buffer, count: size * count)
            return transfer(data)?.takeBody(bytes) ?? 0
        }
        handle.setProgress { data, _, down, _, up in
            transfer(data)?.noteCounts(up: Int64(up), down: Int64(down))
            return 0
        }
        handle.setPrerequisite { data, _, _, remotePort, localPort in
            let isKnown = transfer(data)?.begin(localPort: localPort, remotePort: remotePort) == true
            return CInt(isKnown ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
        }
    }
}

private func transfer(_ data: UnsafeMutableRawPointer?) -> UploadTransfer? {
    data.map { Unmanaged<UploadTransfer>.fromOpaque($0).takeUnretainedValue() }
}
