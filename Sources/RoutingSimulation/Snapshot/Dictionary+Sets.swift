// SPDX-License-Identifier: Apache-2.0

extension Dictionary {
    /// Removes a member of the set at a key, and the set with its last member.
    mutating func remove<Member>(_ member: Member, at key: Key) where Value == Set<Member> {
        self[key]?.remove(member)
        if self[key]?.isEmpty ?? false { self[key] = nil }
    }
}
