import Foundation
import Testing

@testable import Kiosk

/// The example configuration of the Debian package.
@Suite struct ExampleTests {
    @Test func theExampleOfThePackageHasNoMistake() throws {
        var top = URL(filePath: #filePath)
        for _ in 0..<4 { top.deleteLastPathComponent() }
        let bytes = try Data(contentsOf: top.appending(path: "Tools/package/kiosk.toml"))
        let kiosk = try KioskConfiguration(Array(bytes), file: "kiosk.toml", folder: "/etc/talkie")
        #expect(kiosk.settings.playlist == ["/srv/kiosk"] && kiosk.periods.map(\.name) == ["morning"])
    }
}
