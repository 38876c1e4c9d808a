// SPDX-License-Identifier: Apache-2.0

/// What a cursor file has of a target, on a line that ends with the target.
protocol CursorLine: Hashable {
    /// The first line of the file.
    static var head: String { get }
    /// How many words come before the target.
    static var wordCount: Int { get }

    /// Reads the words; `nil` where they are not those of a line.
    init?(words: [String])
    /// The words before the target.
    var words: [String] { get }
}

/// A file of `timeline --cursor-file`: how far each target is done.
struct CursorFile<Line: CursorLine>: Hashable {
    var lines: [String: Line] = [:]

    /// Starts before the first row.
    init() {}

    /// Reads a file; one that is missing or empty stands for the begin.
    ///
    /// - Throws: A ``FileFailure`` for a file that cannot be read, or is another one.
    init(file path: String) throws(FileFailure) {
        guard let bytes = try OutputFile.read(path), !bytes.isEmpty else { return }
        let texts = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard texts.first.map({ $0 == Line.head }) ?? false else { throw Self.malformed(path) }
        for text in texts.dropFirst() {
            let words = text.split(separator: " ", maxSplits: Line.wordCount).map(String.init)
            guard words.count == Line.wordCount + 1, let line = Line(words: words.dropLast()) else {
                throw Self.malformed(path)
            }
            lines[words[Line.wordCount]] = line
        }
    }

    /// Replaces the file.
    func write(to path: String) throws(FileFailure) {
        var buffer = ByteBuffer()
        buffer.append("\(Line.head)\n")
        for (target, line) in lines.sorted(by: { $0.key < $1.key }) {
            buffer.append("\((line.words + [target]).joined(separator: " "))\n")
        }
        try OutputFile.write(&buffer, to: path)
    }

    private static func malformed(_ path: String) -> FileFailure {
        FileFailure(
            "read \(path)",
            "it is not a cursor of netflags timeline with this format: delete it to begin anew, or give another"
        )
    }
}
