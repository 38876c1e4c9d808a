// SPDX-License-Identifier: Apache-2.0

// The types are Apple's.
// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals

internal import CoreFoundation

public import class Foundation.NSString

/// A string as an object, so that `"example.com" as CFString` compiles as on Apple's platforms.
///
/// On Apple's platforms, every `String` can be cast to Core Foundation's class. On Linux, it can only be cast to
/// Foundation's class. This type hides `CoreFoundation.CFString` in files that import only this module. Code that
/// passes a string to a function of Core Foundation writes `CoreFoundation.CFString`.
public typealias CFString = NSString

/// The mode of a run loop, by Apple's names.
///
/// Core Foundation on Linux has this type, but without members.
public struct CFRunLoopMode: RawRepresentable, Hashable, @unchecked Sendable {
    // Sendable: it contains an immutable string, which every thread can read.

    /// The mode's name.
    public let rawValue: CFString

    /// Creates a mode with a name.
    public init(rawValue: CFString) {
        self.rawValue = rawValue
    }

    /// Creates a mode with a name.
    public init(_ rawValue: CFString) {
        self.rawValue = rawValue
    }

    /// The mode in which a run loop runs by default.
    public static var defaultMode: CFRunLoopMode! {
        CFRunLoopMode(rawValue: "kCFRunLoopDefaultMode" as CFString)
    }

    /// All common modes of a run loop, including the default mode.
    public static var commonModes: CFRunLoopMode! {
        CFRunLoopMode(rawValue: "kCFRunLoopCommonModes" as CFString)
    }

    /// Modes with the same name are equal.
    public static func == (left: CFRunLoopMode, right: CFRunLoopMode) -> Bool {
        RunLoopModeName(left.rawValue) == RunLoopModeName(right.rawValue)
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(RunLoopModeName(rawValue))
    }
}

/// The name of a mode.
struct RunLoopModeName: Hashable, Sendable {
    let text: String

    /// Reads a string of Foundation or of Core Foundation; `nil` for any other object.
    init?(_ object: AnyObject) {
        guard let text = object as? NSString else { return nil }
        self.text = text as String
    }

    /// The string for functions of Core Foundation.
    ///
    /// Core Foundation compares the common modes by identity and all other modes by name.
    var coreFoundation: CoreFoundation.CFRunLoopMode? {
        if text == "kCFRunLoopCommonModes" { return kCFRunLoopCommonModes }
        return CFStringCreateWithCString(kCFAllocatorDefault, text, CFStringBuiltInEncodings.UTF8.rawValue)
    }
}
