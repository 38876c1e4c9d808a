// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// A terminal without a window.
final class Terminal {
    private let controller: Int32
    /// The side that programs write to.
    private(set) var screen: Int32

    /// Opens a terminal of a width; 0 columns stand for an unknown one.
    init(columns: UInt16) throws {
        screen = -1
        controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        // TIOCSPTLCK and TIOCGPTN: what unlockpt() and ptsname() do.
        var (lock, number): (Int32, Int32) = (0, 0)
        try #require(
            ioctl(controller, 0x4004_5431, &lock) == 0 && ioctl(controller, 0x8004_5430, &number) == 0)
        screen = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(screen >= 0)
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(screen, UInt(TIOCSWINSZ), &size) == 0)
    }

    deinit {
        close(controller)
        if screen >= 0 { close(screen) }
    }

    /// What was written, once every program has ended; nothing can be written afterwards.
    func content() -> String {
        close(screen)
        screen = -1
        var shown: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while case let count = read(controller, &chunk, chunk.count), count > 0 { shown += chunk[..<count] }
        return String(decoding: shown, as: UTF8.self)
    }
}
