// SPDX-License-Identifier: Apache-2.0

import SystemSupport
import Testing

@testable import netflags

struct RunningProcessTests {
    @Test(
        arguments: [
            ("0::/system.slice/ssh.service\n", "ssh.service"),
            ("0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@tty1.service"),
            ("0::/user.slice/user-1000.slice/session-4.scope\n", "session-4.scope"),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/syncthing.service\n",
                "user@1000.service, syncthing.service in it"
            ),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/init.scope\n",
                "user@1000.service, init.scope in it"
            ),
            (
                "0::/system.slice/docker-4f2a.scope/system.slice/ssh.service\n",
                "docker-4f2a.scope, ssh.service in it"
            ),
            (
                "0::/machine.slice/systemd-nspawn@c1.service/payload/system.slice/ssh.service\n",
                "systemd-nspawn@c1.service, ssh.service in it"
            ),
            // Docker without systemd, and LXC.
            (
                "0::/docker/4f2a/system.slice/systemd-networkd.service\n",
                "docker/4f2a, systemd-networkd.service in it"
            ),
            ("0::/lxc.payload.c1/init.scope\n", "lxc.payload.c1, init.scope in it"),
            ("0::/a.service/b.slice/../c.service/d.service\n", "a.service, d.service in it"),
            // Podman and Docker put groups of their own below the unit's.
            ("0::/system.slice/docker-4f2a.scope/init\n", "docker-4f2a.scope"),
            // Beside version 1, the hierarchy of systemd is a named one.
            ("4:memory:/a.service\n1:name=systemd:/system.slice/ssh.service\n0::/\n", "ssh.service"),
            // A name can have a colon.
            ("0::/system.slice/a:b.service\n", "a:b.service"),
            ("0::/\n", nil), ("0::/init\n", nil), ("", nil), ("4:memory:/a.service\n", nil), ("0\n", nil),
            ("0::/system.slice\n", nil),
        ] as [(String, String?)])
    func `a unit of a user's manager or of a container is never the host's`(groups: String, unit: String?) {
        #expect(RunningProcess.unit(inGroups: groups) == unit)
    }

    @Test func `a process has its name and number, and the number alone without a name`() {
        #expect(RunningProcess(identifier: 812, name: "sshd", unit: nil).words == "sshd/812")
        #expect(
            RunningProcess(identifier: 812, name: "sshd", unit: "ssh.service").words
                == "sshd/812 (ssh.service)")
        #expect(RunningProcess(identifier: 812, name: "", unit: nil).words == "process 812")
    }
}
