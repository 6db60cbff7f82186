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
            let held = givenUp == 0 ? "the program file has some" : "started with \(Privileges.names(of: givenUp))"
            return Finding(
                "capabilities", .limited,
                "\(held), dropped at once, because every loaded library would have them too",
                remedy: Privileges.remedy(of: file, hasSome: fileHasSome))
        }
        if isRoot {
            return Finding(
                "capabilities", .limited,
                "running as root: every library that Talkie loads for a film runs as root too",
                remedy: "run it as a user; talkie doctor as that user shows which rights are missing")
        }
        return Finding("capabilities", .good, "none; no loaded library has any")
    }
}
