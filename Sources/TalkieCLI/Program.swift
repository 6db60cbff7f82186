internal import Glibc
internal import MediaCore

/// The entry point. Contains no other code: `main` is isolated to the main actor, which C callbacks must not inherit.
@main
enum Program {
    static func main() { exit(CommandLineRunner.run(FileName.arguments)) }
}
