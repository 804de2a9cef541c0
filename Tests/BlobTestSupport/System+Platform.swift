#if os(Linux)
/// True on Linux, with its `/proc`, `/sys` and `/dev/full`.
package let isLinux = true
#else
/// True on Linux, with its `/proc`, `/sys` and `/dev/full`.
package let isLinux = false
#endif
