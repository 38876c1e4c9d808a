// SPDX-License-Identifier: Apache-2.0

// The types are Apple's.
// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals

internal import Foundation

/// A string as an object, so that `"example.com" as CFString` compiles as on Apple's platforms.
///
/// There, every `String` can be cast to Core Foundation's class. On Linux it cannot, but it can be cast to
/// `AnyObject`; so that is what this is, and it hides `CoreFoundation.CFString` from those who import this module
/// alone. A program that hands one on to Core Foundation's functions writes `CoreFoundation.CFString` there.
public typealias CFString = AnyObject

/// The mode of a run loop, by Apple's names.
///
/// Core Foundation on Linux has the type without members.
public struct CFRunLoopMode: RawRepresentable, Hashable, @unchecked Sendable {
    // Sendable, and this is the proof: it holds an immutable string, which nothing changes and every thread can
    // read.

    /// The mode's name.
    public let rawValue: CFString

    /// Names a mode of one's own.
    public init(rawValue: CFString) {
        self.rawValue = rawValue
    }

    /// Names a mode of one's own.
    public init(_ rawValue: CFString) {
        self.rawValue = rawValue
    }

    /// The mode in which a run loop runs unless somebody says otherwise.
    public static var defaultMode: CFRunLoopMode! {
        CFRunLoopMode(rawValue: "kCFRunLoopDefaultMode" as CFString)
    }

    /// All modes that are common in a run loop; the default mode is.
    public static var commonModes: CFRunLoopMode! {
        CFRunLoopMode(rawValue: "kCFRunLoopCommonModes" as CFString)
    }

    /// Two modes of one name are one.
    public static func == (left: CFRunLoopMode, right: CFRunLoopMode) -> Bool {
        RunLoopModeName(left.rawValue) == RunLoopModeName(right.rawValue)
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(RunLoopModeName(rawValue))
    }
}

/// The name of a mode, read from whatever kind of object a program gives for one.
struct RunLoopModeName: Hashable, Sendable {
    let text: String

    /// Reads a string of Swift's, of Foundation's or of Core Foundation's; `nil` for any other object.
    init?(_ object: CFString) {
        if let text = object as? String {
            self.text = text
        } else if let text = object as? NSString {
            self.text = text as String
        } else {
            return nil
        }
    }

    /// The string that Core Foundation takes.
    ///
    /// It knows the common modes by the identity of their constant, all others by name.
    var coreFoundation: CoreFoundation.CFRunLoopMode? {
        if text == "kCFRunLoopCommonModes" { return kCFRunLoopCommonModes }
        return CFStringCreateWithCString(kCFAllocatorDefault, text, CFStringBuiltInEncodings.UTF8.rawValue)
    }
}
