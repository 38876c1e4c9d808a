// SPDX-License-Identifier: Apache-2.0

// download URL [SECONDS]: downloads a URL, and waits at most SECONDS for a connection.

import Downloading
import Foundation

let arguments = CommandLine.arguments.dropFirst()
guard let url = arguments.first.flatMap({ URL(string: $0) }) else {
    print("download URL [SECONDS]")
    exit(64)
}
var patience = Downloader.Patience()
if let seconds = arguments.dropFirst().first.flatMap({ Int($0) }) { patience.connection = .seconds(seconds) }
do {
    let data = try await Downloader(patience: patience).download(url)
    print("\(data.count) bytes")
} catch {
    print("no download: \(error)")
    exit(1)
}
