internal import Glibc

/// Where the process begins. Nothing else happens here: code inside `main` belongs to the main actor, and C callbacks
/// must not.
@main
enum Program {
    static func main() { exit(CommandLineRunner.run(Array(CommandLine.arguments.dropFirst()))) }
}
