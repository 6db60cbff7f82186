import Glibc
import MediaCodecs
import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

@Suite struct FilmSubtitlesTests {
    /// The film's folder with subfolders.
    private final class FilmFolder {
        let path = "/tmp/talkie-scratch-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        private var made: [String] = []

        init(_ files: [String]) throws {
            mkdir(path, 0o755)
            for file in files {
                let parts = file.split(separator: "/")
                var folder = path
                for part in parts.dropLast() {
                    folder += "/" + part
                    if mkdir(folder, 0o755) == 0 { made.append(folder) }
                }
                try TestClips.write(Array("x".utf8), to: path + "/" + file)
                made.append(path + "/" + file)
            }
        }

        deinit {
            for entry in made.reversed() { remove(entry) }
            rmdir(path)
        }

        func found(_ search: SubtitleSearch, folders: [String] = FilmSubtitles.usualFolders) -> [String] {
            FilmSubtitles.find(beside: path + "/Film.mkv", search, folders: folders).map {
                String($0.path.dropFirst(path.count + 1))
            }
        }
    }

    private static let files = [
        "Film.mkv", "Film.srt", "film.EN.Forced.SRT", "Film.10.srt", "Film.2.srt", "Film2.srt", "Other.srt",
        "Making of Film.ass",
        "Film.directors cut.srt", "Film.txt", "Film.idx", "Film.sub", "Subs/2_English.srt", "Subs/Film.de.srt",
        "Subs/Film/French.srt",
        "Subs/Other/German.srt", "mine/Film.it.srt",
    ]

    @Test func filesAreFoundAsMpvFindsThem() throws {
        let folder = try FilmFolder(Self.files)
        #expect(folder.found(.no) == [])
        let exact = [
            "Film.idx", "Film.srt", "Film.2.srt", "Film.10.srt", "film.EN.Forced.SRT", "Subs/2_English.srt",
            "Subs/Film.de.srt", "Subs/Film/French.srt",
        ]
        #expect(Set(folder.found(.exact)) == Set(exact) && folder.found(.exact).last == "Subs/Film/French.srt")
        let numbered = folder.found(.exact).filter { $0.contains("0") || $0.contains("2") }
        #expect(numbered == ["Film.2.srt", "Film.10.srt", "Subs/2_English.srt"])
        #expect(
            Set(folder.found(.fuzzy))
                == Set(
                    exact + [
                        "Film2.srt", "Making of Film.ass", "Film.directors cut.srt",
                    ]))
        #expect(Set(folder.found(.all)) == Set(folder.found(.fuzzy) + ["Other.srt"]))
        #expect(
            folder.found(.fuzzy).firstIndex(of: "Making of Film.ass")! > folder.found(.fuzzy).firstIndex(
                of: "Film2.srt")!)
        #expect(folder.found(.exact, folders: ["mine"]).last == "mine/Film.it.srt")
        #expect(FilmSubtitles.find(beside: "https://host/Film.mkv", .all) == [])
        #expect(FilmSubtitles.find(beside: "-", .all) == [])
    }

    @Test func aFolderOfSubtitlesCountsInAnyCaseAndItsLanguagesOnlyForAFilmThatIsAloneInItsFolder() throws {
        let alone = try FilmFolder(["Film.mkv", "SUBS/en.srt", "SUBS/Extras.srt", "SUBS/3_German_forced.srt"])
        #expect(Set(alone.found(.exact)) == ["SUBS/en.srt", "SUBS/3_German_forced.srt"])
        let series = try FilmFolder(["Film.mkv", "Film 2.mkv", "subs/en.srt", "subs/Film.de.srt", "subs/Film/2_en.srt"])
        #expect(Set(series.found(.exact)) == ["subs/Film.de.srt", "subs/Film/2_en.srt"])
        #expect(Set(series.found(.fuzzy)) == ["subs/en.srt", "subs/Film.de.srt", "subs/Film/2_en.srt"])
    }

    @Test func moreThanAViewerCanChooseFromAreNotTaken() throws {
        let folder = try FilmFolder(["Film.mkv"] + (0..<80).map { "Film.\($0).srt" })
        #expect(folder.found(.exact).count == 64 && folder.found(.exact).last == "Film.63.srt")
    }

    @Test func namesSayWhatIsInside() throws {
        let names: [(String, String?, Bool, Bool, String?)] = [
            ("Film.en.srt", "en", false, false, nil), ("Film.en.forced.srt", "en", true, false, nil),
            ("Film.en.sdh.ass", "en", false, true, nil), ("Film.eng.hi.srt", "eng", false, true, nil),
            ("Film.hi.srt", "hi", false, false, nil), ("Film.pt-BR.srt", "pt-BR", false, false, nil),
            ("Film.German (Commentary).srt", "de", false, false, "Commentary"),
            ("Film-fr-forced.srt", "fr", true, false, nil),
            ("Film.cut.srt", nil, false, false, "cut"),
        ]
        for (name, language, isForced, isForHearingImpaired, title) in names {
            let folder = try FilmFolder(["Film.mkv", name])
            let found = try #require(FilmSubtitles.find(beside: folder.path + "/Film.mkv", .fuzzy).first, "\(name)")
            #expect(found.language == language, "\(name)")
            #expect(found.isForced == isForced && found.isForHearingImpaired == isForHearingImpaired, "\(name)")
            #expect(found.title == title && !found.isMeant, "\(name)")
        }
        let folder = try FilmFolder(["Film.mkv", "Film.srt"])
        #expect(FilmSubtitles.find(beside: folder.path + "/Film.mkv", .exact).map(\.isMeant) == [true])
    }

    @Test func filesBesideAFilmAreTracksOfIt() throws {
        let folder = TemporaryFolder()
        let lines = SubtitleFiles.srt([.init(500, 1500, "inside")])
        let clip = try TestClips.make(
            "beside.mkv",
            TestClips.arguments("-f lavfi -i color=s=64x36:r=5:d=4 -i") + [try SubtitleFiles.write(lines, as: "srt")]
                + TestClips.arguments("-c:v libx264 -c:s srt -metadata:s:s:0 language=ger"))
        let path = try folder.write(try TestClips.bytes(of: clip), to: "film.mkv")
        let film = try MediaFile.open(path)
        #expect(FilmWithSubtitles.film(film, at: path, .fuzzy) === film)
        for (name, text) in [("film.srt", "one"), ("film.en.forced.srt", "two")] {
            try folder.write(Array(SubtitleFiles.srt([.init(700, 900, text)]).utf8), to: name)
        }
        try folder.write(Array("damaged".utf8), to: "film.fr.srt")
        let both = try #require(FilmWithSubtitles.film(film, at: path, .exact) as? FilmWithSubtitles)
        let tracks = both.summary.tracks.filter { $0.kind == .subtitle }
        #expect(tracks.map(\.number) == [1, 2, 3])
        #expect(tracks.map(\.isExternal) == [false, true, true])
        #expect(tracks.map(\.language) == ["ger", nil, "en"])
        #expect(tracks.map(\.isForced) == [false, false, true])
        #expect(tracks.dropFirst().map(\.isDefault) == [true, false])
        #expect(Set(both.summary.tracks.map(\.id)).count == both.summary.tracks.count)
        #expect(both.warnings.count == 1 && both.warnings[0].contains("film.fr.srt"))
        for (track, text) in zip(tracks, ["inside", "one", "two"]) {
            let source = try both.source(for: track)
            #expect(source.track == track && source.track.number == track.number)
            #expect(try ReadSubtitles(source).texts == [text])
        }
        #expect(both.summary.subtitleTrack()?.number == 2)
        // 20 files of 8 MB.
        let line = SubtitleFiles.Cue(700, 900, String(repeating: "word ", count: 1000))
        let text = SubtitleFiles.srt(Array(repeating: line, count: 1660))
        let long = try folder.write(Array(text.utf8), to: "film.10.srt")
        for number in 11..<30 { symlink(long, folder.path("film.\(number).srt")) }
        let many = try #require(
            FilmWithSubtitles.film(film, at: path, .fuzzy, named: [folder.path("film.29.srt")]) as? FilmWithSubtitles)
        #expect(many.summary.tracks.count { $0.isExternal } == 10 && many.warnings.count == 2)
        #expect(many.summary.tracks.first { $0.isExternal }?.isDefault == true, "the named file comes first")
        #expect(many.warnings.last?.contains("12 of the film's subtitle files") == true, "\(many.warnings)")
        #expect(many.summary.subtitleTrack(languages: ["de"])?.isUserProvided == true)
        let named = FilmWithSubtitles.film(film, at: path, .no, named: [folder.path("film.en.forced.srt")])
        #expect(named.summary.tracks.last?.isDefault == true && named.summary.tracks.last?.language == "en")
    }
}
