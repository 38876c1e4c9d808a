// SPDX-License-Identifier: Apache-2.0

/// Where the order of getaddrinfo differs from that of the library: what `getaddrinfo.c`, `check_pf.c` and
/// `check_native.c` of the GNU C library do, each in one function.
enum GlibcException: String, CaseIterable {
    /// `try_connect`: an address with a route is usable, whatever the interface.
    case carrier
    /// `try_connect`: the socket may not send to broadcast addresses.
    case broadcast
    /// `rfc3484_sort`, rule 9: bits behind the prefix of the source count.
    case hostBits
    /// `rfc3484_sort`, rule 7: the interface is the one with the source address, not the outgoing one.
    case sourceInterface
    /// `__check_native`: a source that is not listed is behind a tunnel.
    case unlisted
    /// `rfc3484_sort`, rule 9 for one family alone: the comparison of pairs runs in circles.
    case circle
    /// `make_request`: without an IPv6 address other than ::1, no address is listed.
    case noList
    /// `make_request`: an address with a peer is listed as the peer.
    case peer
    /// `getaddrinfo`: of several interfaces with the source address, `bsearch` finds any.
    case shared
    /// `getaddrinfo`: an IPv4 address is connected by the IPv6 socket, and 127.0.0.0/8 is not looked for as 127.0.0.1.
    case loopback
    /// `get_scope` and `rfc3484_sort`: an IPv4-mapped address is an IPv6 address.
    case mapped
}
