// SPDX-License-Identifier: Apache-2.0

import Fakes
import Foundation
import LinuxSystemConfiguration
import Testing

struct ErrorTests {
    @Test func `the last error is the calling thread's own`() async {
        let others = await withCheckedContinuation { continuation in
            let first = Thread {
                let before = SCError()
                _ = SCNetworkReachabilityCreateWithName(nil, "")
                let after = SCError()
                Thread { continuation.resume(returning: [before, after, SCError()]) }.start()
            }
            first.start()
        }
        #expect(others == [0, 1_002, 0])
    }

    @Test func `a call that succeeds keeps the last error`() {
        let network = ScriptedNetwork.wired()
        #expect(SCNetworkReachabilityCreateWithName(nil, "") == nil)
        #expect(network.use { SCNetworkReachabilityCreateWithName(nil, "192.0.2.1") } != nil)
        #expect(SCError() == kSCStatusInvalidArgument)
    }

    @Test func `every code has words of its own`() {
        let codes = [
            kSCStatusOK, kSCStatusFailed, kSCStatusInvalidArgument, kSCStatusAccessError, kSCStatusNoKey,
            kSCStatusKeyExists, kSCStatusLocked, kSCStatusNeedLock, kSCStatusNoStoreSession,
            kSCStatusNoStoreServer,
            kSCStatusNotifierActive, kSCStatusNoPrefsSession, kSCStatusPrefsBusy, kSCStatusNoConfigFile,
            kSCStatusNoLink, kSCStatusStale, kSCStatusMaxLink, kSCStatusReachabilityUnknown,
            kSCStatusConnectionNoService, kSCStatusConnectionIgnore,
        ]
        let words = Set(codes.map { String(cString: SCErrorString(Int32($0))) })
        #expect(words.count == codes.count && !words.contains("Unknown error"))
        #expect(
            codes == [0] + Array(1_001...1_007) + Array(2_001...2_003) + Array(3_001...3_006) + [
                4_001, 5_001, 5_002,
            ])
    }

    @Test func `the last error is also an error with a domain and words`() {
        #expect(SCNetworkReachabilityCreateWithName(nil, "") == nil)
        let error = SCCopyLastError()
        #expect(CFErrorGetCode(error) == kSCStatusInvalidArgument)
        #expect("\(CFErrorGetDomain(error)!)" == kCFErrorDomainSystemConfiguration as String)
        #expect("\(CFErrorCopyDescription(error)!)".contains("Invalid argument"))
    }

    @Test func `the last error can be thrown, and has its words`() {
        #expect(SCNetworkReachabilityCreateWithName(nil, "") == nil)
        let error = #expect(throws: (any Error).self) { throw SCCopyLastError() }
        #expect(error?.localizedDescription.contains("Invalid argument") == true)
    }

    @Test(arguments: [-1, 9_999, Int32.max, Int32.min])
    func `a code that is none has words too`(code: Int32) {
        #expect(String(cString: SCErrorString(code)) == "Unknown error")
    }

    @Test func `an errno has the C library's words`() {
        #expect(String(cString: SCErrorString(ENOENT)) == String(cString: strerror(ENOENT)))
    }

    /// The C library writes its words for these into a buffer, which the next call overwrites.
    @Test(arguments: [41, 58, 134] as [Int32])
    func `a number between errno values has constant words`(code: Int32) {
        #expect(String(cString: SCErrorString(code)) == "Unknown error")
    }
}
