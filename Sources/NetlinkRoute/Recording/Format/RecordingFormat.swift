// SPDX-License-Identifier: Apache-2.0

/// The numbers of the rtmon stream: netlink messages in host byte order, each padded to 4 bytes.
enum RecordingFormat {
    /// Bytes of `struct nlmsghdr`.
    static let headerLength = 16
    /// The lengths that a message can have, header included.
    ///
    /// The kernel answers in datagrams of at most 32 KiB, and this package's sockets read 64 KiB at once. Staying
    /// below 65,536 also has it that a file in the other byte order fails at its very first header: each length
    /// up to 65,535 is 0 or at least 65,536 when its bytes are swapped.
    static let lengths: ClosedRange<UInt32> = 16...65_535

    /// NLMSG_NOOP, which every reader skips: the place of annotations.
    static let noop: UInt16 = 1
    /// NLMSG_DONE, which some writers keep at the end of a dump.
    static let done: UInt16 = 3
    /// The time stamp that iproute2 invented (NLMSG_TSTAMP).
    static let timeStamp: UInt16 = 15
    /// The lowest number that is not one of netlink's own control messages (NLMSG_MIN_TYPE).
    static let firstType: UInt16 = 16

    /// NLM_F_REQUEST: a message to the kernel.
    static let isRequest: UInt16 = 1
    /// NLM_F_MULTI: a part of a dump.
    static let isPart: UInt16 = 2

    /// The length with its padding.
    static func padded(_ length: Int) -> Int {
        (length + 3) & ~3
    }
}

/// `struct nlmsghdr` as far as a recording needs it.
struct RecordingHeader {
    let length: UInt32
    let type: UInt16
    let flags: UInt16
    let sequence: UInt32

    /// Reads a header at the start of at least 16 bytes.
    init(_ bytes: UnsafeRawBufferPointer) {
        length = bytes.loadUnaligned(as: UInt32.self)
        type = bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
        flags = bytes.loadUnaligned(fromByteOffset: 6, as: UInt16.self)
        sequence = bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
    }

    /// Why this can be no header of a message; `nil` when it can.
    var fault: RecordingFault.Reason? {
        if RecordingFormat.lengths.contains(length) { return nil }
        // The types of rtnetlink lie below 256: swapped, all of the type is in its high byte.
        let isForeign = RecordingFormat.lengths.contains(length.byteSwapped) && type.byteSwapped < 256
        return isForeign ? .foreignByteOrder : .length(length)
    }
}
