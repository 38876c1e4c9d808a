// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient

/// A request that is never sent: to build it proves that the client's package still builds.
public func makeRequest() -> String {
    HTTPClientRequest(url: "http://192.0.2.1/").url
}
