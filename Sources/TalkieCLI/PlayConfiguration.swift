internal import ArgumentParser
internal import MediaCore
internal import Storage
internal import TalkieApp

/// The options of `talkie play`: `talkie.conf` and `input.conf`, then the command line.
///
/// A setting becomes an option in front of the typed ones, so that the command line overrides it. An error in a file is
/// reported with its line and only disables that line.
struct PlayConfiguration {
    static let settingsFile = "talkie.conf"
    static let keysFile = "input.conf"
    /// Options that are valid only on the command line.
    private static let typedOnly: Set<String> = ["help", "h", "version", "config-dir", "no-config", "config"]
    /// Maximum nesting depth of profiles.
    private static let deepest = 8

    private let typed: [String]
    private var mistakes: [ConfigMistake] = []
    private var notes: [String] = []
    /// The valid settings as options, with their lines.
    private var options: [(line: Int, word: String)] = []

    /// Returns the arguments of a command with the configuration applied.
    ///
    /// - Parameters:
    ///   - command: The parsed command line.
    ///   - typed: The command line arguments, without `play`.
    ///   - folder: The configuration folder, unless `--config-dir` is given.
    /// - Throws: A usage error for an unknown profile on the command line, or for the typed options.
    static func arguments(
        of command: PlayCommand, typed: [String], folder: ConfigFolder
    ) throws -> PlayArguments {
        guard !command.configuration.noConfig else { return command.arguments }
        let folder = command.configuration.configDir.map { ConfigFolder(path: $0) } ?? folder
        var configuration = PlayConfiguration(typed: typed)
        let text = configuration.readSettings(in: folder)
        for name in command.configuration.profiles where text[profile: name] == nil {
            throw ValidationError(noProfile(name, in: text))
        }
        configuration.apply(text, profiles: command.configuration.profiles)
        var arguments = try configuration.understood(or: command).arguments
        arguments.keys = configuration.readKeys(in: folder)
        arguments.notes = ConfigMistake.messages(for: configuration.mistakes) + configuration.notes
        return arguments
    }

    /// Returns the profiles of `talkie.conf`, one per line.
    static func profileListing(_ command: PlayCommand, folder: ConfigFolder) -> String {
        let folder = command.configuration.configDir.map { ConfigFolder(path: $0) } ?? folder
        var configuration = PlayConfiguration(typed: [])
        let profiles = configuration.readSettings(in: folder).profiles
        guard !profiles.isEmpty else { return "There is no profile in \(folder.path)/\(settingsFile).\n" }
        return profiles.map { profile in
            let description = profile.description.isEmpty ? "" : "  " + profile.description
            return PrintableText.of(profile.name + description) + "\n"
        }.joined()
    }

    private init(typed: [String]) { self.typed = typed }

    // MARK: Reading

    private mutating func read(_ name: String, in folder: ConfigFolder) -> ConfigFolder.Content? {
        do throws(TalkieError) { return try folder.read(name) } catch {
            mistakes.append(ConfigMistake(name, line: 0, error.message + "; it is ignored"))
            return nil
        }
    }

    private mutating func readSettings(in folder: ConfigFolder) -> ConfigText {
        guard let content = read(Self.settingsFile, in: folder) else { return ConfigText([], file: Self.settingsFile) }
        let text = ConfigText(content.bytes, file: Self.settingsFile)
        mistakes += text.mistakes
        let all = text.settings + text.profiles.flatMap(\.settings)
        if content.isReadByOthers, let secret = all.first(where: Self.holdsSecret) {
            notes.append(
                "\(Self.settingsFile) line \(secret.line) contains a password that other users can read; type "
                    + "chmod 600 \(ShellArgument.quoted("\(folder.path)/\(Self.settingsFile)"))")
        }
        return text
    }

    /// Returns true for an address with a password, and for an option that is or may contain one.
    private static func holdsSecret(_ setting: ConfigText.Setting) -> Bool {
        guard let value = setting.value else { return false }
        return PrintableText.withoutCredentials(value) != value || setting.name.hasPrefix("http-header-fields")
            || (setting.name.contains("password") && !setting.name.hasSuffix("file"))
    }

    private mutating func readKeys(in folder: ConfigFolder) -> KeyMap {
        guard let content = read(Self.keysFile, in: folder) else { return KeyMap() }
        let input = InputConfiguration(content.bytes, file: Self.keysFile)
        mistakes += input.mistakes
        return input.keys
    }

    // MARK: Settings

    private mutating func apply(_ text: ConfigText, profiles: [String]) {
        // Unused profiles are checked too, so that errors are found when they are written.
        let settings = (text.settings + text.profiles.flatMap(\.settings)).filter { $0.name != "profile" }
        var valid: [ConfigText.Setting: String] = [:]
        for setting in settings {
            do throws(ValueError) { valid[setting] = try Self.option(for: setting) } catch {
                mistakes.append(ConfigMistake(Self.settingsFile, line: setting.line, error.description))
            }
        }
        // A parse takes as long for one option as for many: each is checked alone only if there is an error.
        do throws(ValueError) { try Self.check(settings.compactMap { valid[$0] }) } catch {
            for setting in settings {
                guard let option = valid[setting] else { continue }
                do throws(ValueError) { try Self.check([option]) } catch {
                    valid[setting] = nil
                    mistakes.append(ConfigMistake(Self.settingsFile, line: setting.line, error.description))
                }
            }
        }
        add(text.settings, of: text, known: valid, inside: [])
        for name in profiles { add(text[profile: name]?.settings ?? [], of: text, known: valid, inside: [name]) }
    }

    private mutating func add(
        _ settings: [ConfigText.Setting], of text: ConfigText, known: [ConfigText.Setting: String],
        inside names: [String]
    ) {
        for setting in settings {
            guard setting.name == "profile" else {
                if let option = known[setting], options.count < ConfigText.maxSettings {
                    options.append((setting.line, option))
                }
                continue
            }
            for name in (setting.value ?? "").split(separator: ",").map(String.init) {
                let mistake: String? =
                    if names.contains(name) || names.count >= Self.deepest {
                        "the profile '\(name)' includes itself"
                    } else {
                        text[profile: name] == nil ? Self.noProfile(name, in: text) : nil
                    }
                if let mistake {
                    mistakes.append(ConfigMistake(Self.settingsFile, line: setting.line, mistake))
                } else {
                    add(text[profile: name]?.settings ?? [], of: text, known: known, inside: names + [name])
                }
            }
        }
    }

    private static func noProfile(_ name: String, in text: ConfigText) -> String {
        let all = text.profiles.map { "'\($0.name)'" }
        return PrintableText.of(
            "there is no profile '\(name)' in \(settingsFile)"
                + (all.isEmpty ? "" : ", only \(all.prefix(10).joined(separator: ", "))"))
    }

    /// Returns a setting as a command line option.
    ///
    /// - Throws: The usage error for an option that is not supported here, and for a flag with a wrong value.
    private static func option(for setting: ConfigText.Setting) throws(ValueError) -> String {
        if typedOnly.contains(setting.name) {
            throw ValueError("--\(setting.name) is supported on the command line only")
        }
        let option = "--\(setting.name)" + (setting.value.map { "=\($0)" } ?? "")
        let arguments = ArgumentNormalizer.understood(["play", option], commands: ["play"]).dropFirst()
        if let objection = FlagNormalizer.objection(to: Array(arguments)) { throw ValueError(objection) }
        return arguments[1]
    }

    /// Parses options without using them.
    ///
    /// - Throws: The usage error that the options would cause on the command line.
    private static func check(_ options: [String]) throws(ValueError) {
        guard !options.isEmpty else { return }
        do { _ = try PlayCommand.parse(["film"] + FlagNormalizer.settled(options)) } catch {
            throw ValueError(CommandLineRunner.sentence(of: error))
        }
    }

    /// Parses all settings and the typed options. Settings that conflict with typed or earlier ones are skipped.
    private mutating func understood(or command: PlayCommand) throws -> PlayCommand {
        // Typed speakers replace those of the configuration; ArgumentParser would append them.
        let typesSpeaker = typed.contains { $0 == "--speaker" || $0.hasPrefix("--speaker=") }
        if typesSpeaker { options.removeAll { $0.word.hasPrefix("--speaker=") } }
        guard !options.isEmpty else { return command }
        func together(_ arguments: [(line: Int, word: String)]) throws -> PlayCommand {
            try PlayCommand.parse(FlagNormalizer.settled(arguments.map(\.word) + typed))
        }
        // ignored: the words at fault are searched for below, and reported.
        if let all = try? together(options) { return all }
        var kept: [(line: Int, word: String)] = []
        for option in options {
            do {
                _ = try together(kept + [option])
                kept.append(option)
            } catch {
                mistakes.append(
                    ConfigMistake(
                        Self.settingsFile, line: option.line,
                        "\(option.word) is ignored: \(CommandLineRunner.sentence(of: error))"))
            }
        }
        return try together(kept)
    }
}
