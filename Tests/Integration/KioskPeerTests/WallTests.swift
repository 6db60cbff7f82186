import Glibc
import MediaCore
import TalkieTestKit
import Testing

@testable import RouteTestSupport

/// Requirements of two screens in separate networks.
enum WallScreens {
    static let obstacle: String? = {
        if let missing = Chrony.obstacle { return missing }
        for program in ["/usr/bin/Xvfb", "/sbin/ip", "/usr/bin/cc"] where access(program, X_OK) != 0 {
            return "\(program) is not installed"
        }
        return nil
    }()
}

/// Two `talkie kiosk` processes on two hosts with diverging clocks, measured externally.
@Suite(
    .enabled(if: WallScreens.obstacle == nil || getenv("CI") != nil, "\(WallScreens.obstacle ?? "")"),
    .repeatedWhenTheMachineStalls)
struct WallTests {
    /// Records 18 seconds of frames, about 450, with the end of a film and the beginning of the next among them.
    @Test func twoScreensOfAWallShowOneFrame() throws {
        let top = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let tests = CommandLine.arguments[0].split(separator: "/").dropLast().joined(separator: "/")
        let run = try ChildProcess(
            "\(top)/Tools/experiments/wall",
            ["--minutes", "0.3", "--check", "--talkie", Self.program(near: "/\(tests)", top)],
            keepsOutput: true)
        let figure = run.readAll()
        print(figure)
        #expect(run.wait(), "\(figure)")
    }

    /// Returns the path of the program next to the test bundle.
    private static func program(near folder: String, _ top: String) -> String {
        var folder = folder
        while folder.count > 1 {
            if access("\(folder)/talkie", X_OK) == 0 { return "\(folder)/talkie" }
            folder = String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)])
        }
        return "\(top)/.build/debug/talkie"
    }
}
