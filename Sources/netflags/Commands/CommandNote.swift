// SPDX-License-Identifier: Apache-2.0

/// A note about a target that looks like the name of a command.
///
/// A command comes first. `netflags --json watch` and `netflags wacht example.com` ask about hosts named "watch"
/// and "wacht", which is seldom what the user means.
struct CommandNote {
    let message: String

    /// Finds such a target; `nil` where there is none, or the command line names its command.
    init?(_ arguments: [String]) {
        guard let first = arguments.first, !Netflags.commandNames.contains(first) else { return nil }
        let targets = arguments.filter { !$0.hasPrefix("-") }
        if let name = targets.first(where: Netflags.commandNames.contains) {
            message = "asking about a host named \"\(name)\": to run the command, put it first"
        } else if !first.hasPrefix("-"),
            let name = Netflags.commandNames.first(where: { first.isTypo(of: $0) })
        {
            message = "asking about a host named \"\(first)\": the command is \"\(name)\""
        } else {
            return nil
        }
    }
}

extension String {
    /// Whether one insertion, deletion or replacement makes the text the other, or letters are in another order.
    fileprivate func isTypo(of other: String) -> Bool {
        let (left, right) = (Array(utf8), Array(other.utf8))
        guard abs(left.count - right.count) <= 1 else { return false }
        let start = zip(left, right).prefix { $0 == $1 }.count
        let (restLeft, restRight) = (left[start...], right[start...])
        if restLeft.count != restRight.count {
            let (long, short) =
                restLeft.count > restRight.count ? (restLeft, restRight) : (restRight, restLeft)
            return long.dropFirst().elementsEqual(short)
        }
        let isReplacement = restLeft.dropFirst().elementsEqual(restRight.dropFirst())
        return isReplacement || restLeft.sorted() == restRight.sorted()
    }
}
