// SPDX-License-Identifier: Apache-2.0

import Testing

struct JSONFormatTests {
    @Test(
        arguments: [
            ["check", "--explain", "--replay", Night.path, "default", "198.51.100.20"],
            ["watch", "--replay", Night.path, "default"],
            ["path", "--replay", Night.path],
            ["order", "--replay", Night.path, "198.51.100.20", "2001:db8:5::1"],
            ["trace", "--replay", Night.path, "127.0.0.1"],
            ["timeline", Night.path, "default"],
            ["what-if", "--each", "--replay", Night.path, "default"],
            ["what-if", "route del default", "--replay", Night.path, "--", "198.51.100.20"],
            ["diff", Night.path, Recordings.path("01-dummy/02-up-default-routes"), "default"],
            ["assert", "--replay", Night.path, "-"],
            ["assert", "--always", "--replay", Night.path, "-"],
        ]
    )
    func `each reason stands beside its code`(arguments: [String]) throws {
        let result = try NetflagsProcess.run(
            [arguments[0], "--json"] + arguments.dropFirst(), input: Array("default unreachable\n".utf8))
        let objects = try result.lines.flatMap { try #require(JSONValue($0)).objects }
            .filter { $0["reason"]?.string != nil }
        #expect(!objects.isEmpty, "\(result.errors)")
        for object in objects where (object["error"] ?? .null) == .null {
            #expect(object["code"]?.string?.contains(" ") == false, "\(object)")
        }
    }
}

extension JSONValue {
    /// The objects of the value, from the outside in.
    fileprivate var objects: [JSONValue] {
        switch self {
        case .object(let members): [self] + members.flatMap(\.value.objects)
        case .array(let elements): elements.flatMap(\.objects)
        case .null, .bool, .number, .string: []
        }
    }
}
