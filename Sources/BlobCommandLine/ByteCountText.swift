/// Returns a byte count as up to three digits and a unit of powers of 1000: `12.3 MB`.
package func byteCountText(_ byteCount: Int64) -> String {
    var value = Double(byteCount)
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            let text = value < 99.5 && unit != "B" ? "\((value * 10).rounded() / 10)" : "\(Int(value.rounded()))"
            return "\(text) \(unit)"
        }
        value /= 1000
    }
    return "\(Int(value.rounded())) PB"
}
