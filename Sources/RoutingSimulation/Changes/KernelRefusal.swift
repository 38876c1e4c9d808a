// SPDX-License-Identifier: Apache-2.0

/// Why a change is not known, or cannot be made or predicted.
package struct KernelRefusal: Error, Hashable, Sendable {
    /// The errno of the kernel's refusal; `nil` where the simulation does not know what the kernel does.
    package let number: Int32?
    /// What is wrong.
    package let message: String

    /// The kernel refuses the change.
    init(_ number: Int32?, _ message: String) {
        self.number = number
        self.message = message
    }

    /// The simulation does not know the change, or what it does.
    static func unknown(_ message: String) -> KernelRefusal {
        KernelRefusal(nil, message)
    }
}
