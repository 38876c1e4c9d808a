// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Settings of the kernel that no message holds (sysctl).
package enum KernelSetting {
    /// Whether a setting with a number has another one than 0; `nil` if it cannot be read.
    ///
    /// - Parameter path: The file below `/proc/sys`.
    /// - Returns: Whether it is set.
    package static func isSet(_ path: String) -> Bool? {
        guard let file = fopen("/proc/sys/\(path)", "r") else { return nil }
        defer { fclose(file) }
        let byte = fgetc(file)
        return byte == EOF ? nil : byte != 0x30
    }
}
