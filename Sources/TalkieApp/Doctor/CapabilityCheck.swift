internal import Glibc
internal import MediaCore

/// Checks whether the process has capabilities that loaded libraries must not have.
enum CapabilityCheck {
    static func findings() -> [Finding] {
        [
            finding(
                isRoot: geteuid() == 0, givenUp: Privileges.givenUp, fileHasSome: Privileges.fileHasSome,
                file: Privileges.file)
        ]
    }

    /// Returns the finding.
    ///
    /// - Parameter givenUp: One bit per capability that the process was started with.
    static func finding(isRoot: Bool, givenUp: UInt64, fileHasSome: Bool, file: String) -> Finding {
        if fileHasSome || givenUp != 0 {
            let held = givenUp == 0 ? "the program's file has some" : "started with \(Privileges.names(of: givenUp))"
            return Finding(
                "capabilities", .limited,
                "\(held), given up at once: every library that is loaded would have them, too",
                remedy: Privileges.remedy(of: file, hasSome: fileHasSome))
        }
        if isRoot {
            return Finding(
                "capabilities", .limited, "this is root: every library that a film makes Talkie load is, too",
                remedy: "play as a user; the findings about ports and priority, as that user, say what it takes")
        }
        return Finding("capabilities", .good, "none is held, so no library that is loaded has any")
    }
}
