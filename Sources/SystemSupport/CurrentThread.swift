// SPDX-License-Identifier: Apache-2.0

internal import CSystemSupport

/// The thread that calls.
package enum CurrentThread {
    /// Names it, as `ps -L` and debuggers show it.
    ///
    /// - Parameter name: At most 15 bytes; the rest is cut off.
    package static func setName(_ name: String) {
        name.withCString(csys_thread_name)
    }
}
