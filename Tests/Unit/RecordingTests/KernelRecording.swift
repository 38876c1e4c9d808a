// SPDX-License-Identifier: Apache-2.0

import Foundation
import NetlinkRecording
import RoutingModel
import Testing

@testable import NetlinkReachability

/// A network that `Tests/Tools/kernels/record-networks` made and changed on a kernel: what `netflags record --events`
/// wrote, and the answers of the kernel on the way.
struct KernelRecording: CustomTestStringConvertible, Sendable {
    /// Such as `5.10.0/vrf`.
    let name: String

    var testDescription: String { name }

    private static let folder = RecordedNetwork.fixtures.appending(path: "kernels")

    static let all: [KernelRecording] = RecordedNetwork.folders(in: folder).flatMap { kernel in
        let path = folder.appending(path: kernel).path()
        let files = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let networks = files.filter { $0.hasSuffix(".rtnl") }.map { $0.dropLast(5) }
        return networks.sorted().map { KernelRecording(name: "\(kernel)/\($0)") }
    }

    var recording: Recording { Recording(path: Self.folder.appending(path: name + ".rtnl").path()) }

    /// The networks that the kernel was asked about as the recording has them at that time, in their order.
    func moments() throws -> [Moment] {
        let lines = try Data(contentsOf: Self.folder.appending(path: name + ".jsonl"))
        let questions = try lines.split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(Question.self, from: $0)
        }
        // Each begins with the same question.
        return try questions.split { $0.question == questions.first?.question }.map { rest in
            let all = [questions[rest.startIndex - 1]] + rest
            return Moment(routing: try recording.routing(at: try all[0].instant()), questions: all)
        }
    }

    /// The last moment, with the network of the closing dump.
    func end() throws -> Moment {
        let last = try #require(moments().last)
        return Moment(routing: try recording.routing(), questions: last.questions)
    }

    /// Whether a lifetime ends before the last moment: no notification says so.
    var endsWithLifetime: Bool { name.hasSuffix("/router") }
}

extension KernelRecording {
    /// A network, and the questions about it.
    struct Moment {
        let routing: RecordedRouting
        let questions: [Question]

        var snapshot: NetworkSnapshot { routing.routing.snapshot }
    }
}

extension KernelRecording {
    /// A question as `ip route get fibmatch` took it, and the answer as it was printed.
    struct Question: Decodable {
        private struct Entry: Decodable {
            var type: String?
            var dst: String?
            var dev: String?
            var gateway: String?
            var metric: UInt32?
            var flags: [String]
        }

        private let time: String
        let question: String
        private let answer: [Entry]?
        private let error: String?
    }
}

extension KernelRecording.Question {
    private static let errors = [
        "Network is unreachable": ENETUNREACH, "No route to host": EHOSTUNREACH,
        "Invalid argument": EINVAL, "Permission denied": EACCES,
    ]

    /// The bits of RTNH_F that `ip` names.
    private static let bits: [String: UInt32] = ["dead": 0x1, "onlink": 0x4, "linkdown": 0x10]

    var target: String {
        String(question.prefix { $0 != " " })
    }

    var options: ReachabilityOptions {
        var options = ReachabilityOptions()
        options.interface = value(of: "oif").map { InterfaceReference(name: $0) }
        options.mark = value(of: "mark").flatMap { UInt32($0) } ?? 0
        return options
    }

    /// When the kernel was asked.
    func instant() throws -> Recording.Time {
        let parts = time.split(separator: ".").compactMap { Int64($0) }
        try #require(parts.count == 2)
        return Recording.Time(microsecondsSince1970: parts[0] * 1_000_000 + parts[1])
    }

    /// The question as it was put.
    func query(in snapshot: NetworkSnapshot) throws -> RouteQuery {
        var query = try probe(in: snapshot).query(in: snapshot)
        query.mark = options.mark
        return query
    }

    /// The question and its answer.
    func probe(in snapshot: NetworkSnapshot) throws -> Probe {
        var found = Probe.Answer(errno: 0)
        if let entry = answer?.first {
            let isV6 = target.contains(":")
            let destination = try #require(entry.dst)
            found.type = entry.type ?? "unicast"
            found.oif = entry.dev
            found.ifindex = try #require(snapshot.links.values.first { $0.name == entry.dev }).index
            found.gateway = entry.gateway
            found.priority = entry.metric
            found.flags = try entry.flags.reduce(0) { try $0 | #require(Self.bits[$1]) }
            found.dst =
                destination == "default"
                ? (isV6 ? "::/0" : "0.0.0.0/0")
                : destination.contains("/") ? destination : "\(destination)/\(isV6 ? 128 : 32)"
        } else {
            found.errno = try #require(Self.errors[error ?? ""], "\(error ?? "no answer")")
        }
        return Probe(target: target, oif: value(of: "oif"), plain: found, fibmatch: found)
    }

    /// The word after another one.
    private func value(of word: String) -> String? {
        let words = question.split(separator: " ")
        return words.firstIndex { $0 == word }.map { String(words[$0 + 1]) }
    }
}
