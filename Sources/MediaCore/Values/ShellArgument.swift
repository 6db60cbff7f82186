/// Quotes untrusted text in shell commands that are shown to users.
package enum ShellArgument {
    /// Returns one word for a POSIX shell (Shell Command Language, 2.2.2) for any text.
    package static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
