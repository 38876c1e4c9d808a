// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A call of the C side that returned a negative errno.
package struct BaselineFailure: Error, CustomStringConvertible {
    package let what: String
    package let number: Int32

    package init(what: String, number: Int32) {
        self.what = what
        self.number = number
    }

    /// There is no memory for something.
    package static func noMemory(for what: String) -> BaselineFailure {
        BaselineFailure(what: "make \(what)", number: ENOMEM)
    }

    package var description: String {
        "\(what): \(String(cString: strerror(number)))"
    }
}

/// Passes on what a call of the C side returned, unless it is a negative errno.
@discardableResult
package func checked<Number: SignedInteger>(_ what: String, _ result: Number) throws -> Number {
    guard result >= 0 else { throw BaselineFailure(what: what, number: Int32(-result)) }
    return result
}
