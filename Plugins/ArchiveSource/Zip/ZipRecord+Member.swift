import BlobCore
import BlobPlatform

extension ZipRecord {
    /// Returns the member as listings show it.
    func member(index: Int, _ clock: inout DOSClock) -> BlobMember {
        let kind = self.kind
        let mode = self.mode
        let encryption = self.encryption
        let hasChecksum = kind == .file && encryption?.hasChecksum != false
        return BlobMember(
            index: index, name: self.name, kind: kind,
            specialKind: kind == .special ? mode.flatMap(BlobMember.SpecialKind.init) : nil,
            byteCount: kind == .file ? self.byteCount : nil, modificationTime: self.modificationTime(&clock),
            permissions: mode.map { UInt16($0 & 0o7777) },
            checksum: hasChecksum ? BlobMember.text(ofChecksum: self.checksum) : nil,
            isEncrypted: encryption != nil)
    }

    /// The mode as in `stat(2)`; nil unless the writer's system has one, as Unix and Darwin do (4.4.2.2).
    private var mode: UInt32? {
        let mode = self.externalAttributes >> 16
        return (self.system == 3 || self.system == 19) && mode != 0 ? mode : nil
    }

    var kind: BlobMember.Kind {
        let isFolder = self.endsWithSlash
        if let mode {
            switch mode & 0o170000 {
            case 0o040000: return .directory
            case 0o120000: return .symbolicLink
            case 0, 0o100000: return isFolder ? .directory : .file
            // Info-ZIP gives a member that came through a pipe the mode of the pipe.
            case 0o010000: return .file
            default: return self.byteCount > 0 ? .file : .special
            }
        }
        // MS-DOS: attribute bit 4 marks a folder.
        return isFolder || self.system == 0 && self.externalAttributes & 0x10 != 0 ? .directory : .file
    }

    private func modificationTime(_ clock: inout DOSClock) -> Date? {
        // Info-ZIP's "UT": flags, then seconds since 1970.
        if let field = self.extraFields.field(0x5455), field.count >= 5, field[0] & 1 != 0 {
            return Date(timeIntervalSince1970: Double(Int32(bitPattern: field.number32(at: 1))))
        }
        // 4.5.5, NTFS: a reserved number, then attribute 1 with three times in units of 100 ns since 1601.
        if let field = self.extraFields.field(0x000A), field.count >= 16, field.number16(at: 4) == 1 {
            let ticks = Double(field.number64(at: 8)) / 10_000_000
            return Date(timeIntervalSince1970: ticks - 11_644_473_600)
        }
        // Info-ZIP's older "UX": the times of access and modification.
        if let field = self.extraFields.field(0x5855), field.count >= 8 {
            return Date(timeIntervalSince1970: Double(Int32(bitPattern: field.number32(at: 4))))
        }
        return self.date == 0 ? nil : clock.time(date: self.date, time: self.time)
    }
}

/// A converter of MS-DOS times (4.4.6): in steps of two seconds, in no declared time zone, and taken as local times.
struct DOSClock {
    /// The hour that was converted last, cached because `mktime(3)` examines the time zone, which costs most.
    private var hour: (date: UInt16, hour: UInt16, start: Double)?

    mutating func time(date: UInt16, time: UInt16) -> Date {
        let start: Double
        if let hour, hour.date == date, hour.hour == time >> 11 {
            start = hour.start
        } else {
            var parts = tm()
            parts.tm_year = Int32(date >> 9) + 80
            parts.tm_mon = Int32(date >> 5 & 15) - 1
            parts.tm_mday = Int32(date & 31)
            parts.tm_hour = Int32(time >> 11)
            parts.tm_isdst = -1
            start = Double(mktime(&parts))
            self.hour = (date, time >> 11, start)
        }
        return Date(timeIntervalSince1970: start + Double(time >> 5 & 63) * 60 + Double(time & 31) * 2)
    }
}
