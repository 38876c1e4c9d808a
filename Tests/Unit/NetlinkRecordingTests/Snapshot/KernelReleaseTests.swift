// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import NetlinkRecording

struct KernelReleaseTests {
    @Test(arguments: [
        ("6.1.0-56-amd64", KernelRelease(6, 1)), ("Linux 6.1.0-56-amd64 x86_64", KernelRelease(6, 1)),
        ("5.10", KernelRelease(5, 10)), ("4.20.17+", KernelRelease(4, 20)), ("7.3-rc1", KernelRelease(7, 3)),
        ("Linux 5.3.0", KernelRelease(5, 3)),
    ])
    func `the first two numbers of uname are read`(text: String, release: KernelRelease) {
        #expect(KernelRelease(text) == release)
    }

    @Test(arguments: ["", "Linux", "Linux x86_64", "6", "6.", ".1", "-1.2", "six.one", "Darwin 24.1.0 arm64"])
    func `other texts are not a release`(text: String) {
        #expect(KernelRelease(text) == nil)
    }

    @Test func `releases are ordered by number, not by text`() {
        var snapshot = NetworkSnapshot()
        snapshot.kernel = KernelRelease(5, 9)
        #expect(snapshot.isKernel(before: 5, 10) && !snapshot.isKernel(before: 5, 9))
        snapshot.kernel = KernelRelease(5, 20)
        #expect(snapshot.isKernel(before: 6, 1) && !snapshot.isKernel(before: 5, 10))
    }
}
