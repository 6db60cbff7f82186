import MediaCore
import Testing

@testable import MediaFiles

@Suite struct CookieTests {
    private func jar(_ lines: String..., at now: Int64 = 1000) -> CookieJar {
        let jar = CookieJar { now }
        CookieFile(Array(lines.joined(separator: "\n").utf8), name: "c.txt").fill(jar)
        return jar
    }

    private func line(_ jar: CookieJar, _ url: String) -> String? { WebAddress(url).flatMap { jar.header(for: $0) } }

    @Test func aCookieGoesToItsDomainPathAndProtectionOnly() {
        let jar = jar(
            "# Netscape HTTP Cookie File", "", ".example.org\tTRUE\t/\tFALSE\t0\twide\t1",
            "film.example.org\tFALSE\t/a\tTRUE\t0\tnarrow\t2\r",
            "#HttpOnly_.example.org\tTRUE\t/a/b\tFALSE\t2000\tdeep\t3",
            ".example.org\tTRUE\t/\tFALSE\t999\told\t4")
        #expect(line(jar, "https://film.example.org/a/b/c") == "deep=3; narrow=2; wide=1")
        #expect(line(jar, "http://film.example.org/a") == "wide=1", "no secure cookie in clear")
        #expect(line(jar, "https://film.example.org/ab") == "wide=1")
        #expect(line(jar, "https://www.film.example.org/a") == "wide=1", "this very host only")
        #expect(line(jar, "https://badexample.org/") == nil)
        #expect(line(jar, "https://example.org.evil.net/") == nil)
    }

    @Test func aMistakeInACookieFileSkipsItsLineAndIsReportedWithoutItsContent() {
        let text = [
            "a.org\tTRUE\t/\tFALSE\t0\tgood\t1", "one secret line", "a.org\tPERHAPS\t/\tFALSE\t0\tsecret\t1",
            "a.org\tTRUE\tx\tFALSE\t0\tsecret\t1", "a.org\tTRUE\t/\tFALSE\tsoon\tsecret\t1",
        ].joined(separator: "\n")
        let file = CookieFile(Array(text.utf8), name: "c.txt")
        #expect(file.cookies.map(\.name) == ["good"])
        #expect(file.mistakes.map { String($0.prefix(12)) } == (2...5).map { "c.txt line \($0)" })
        #expect(!file.mistakes.contains { $0.contains("secret") })
        let many = CookieFile(Array(String(repeating: "x\n", count: 50).utf8), name: "c")
        #expect(many.mistakes.count == 6)
    }

    @Test func aServerSetsCookiesForItselfAndThoseAboveItOnly() throws {
        let jar = CookieJar { 1000 }
        let address = try #require(WebAddress("http://film.example.org/a/b?c"))
        jar.store("one=1", from: address)
        jar.store("two=2; Domain=.example.org; Path=/", from: address)
        jar.store("three=3; Domain=other.org", from: address)
        jar.store("four=4; Domain=org", from: address)
        jar.store("five=5; Secure", from: address)
        jar.store("six=6; Max-Age=-1", from: address)
        jar.store("seven=7;Max-Age=10;Path=/", from: address)
        jar.store("eight=8\u{1}", from: address)
        jar.store(String(repeating: "n", count: 5000) + "=9", from: address)
        #expect(line(jar, "http://film.example.org/a/c") == "one=1; two=2; seven=7")
        #expect(line(jar, "http://www.example.org/") == "two=2")
        jar.store("two=; Domain=example.org; Path=/; Max-Age=0", from: address)
        #expect(line(jar, "http://www.example.org/") == nil)
        jar.store("always=1; Path=/x; Max-Age=\(Int64.max)", from: address)
        #expect(
            line(jar, "http://film.example.org/x") == "always=1; seven=7", "a time beyond the calendar is no past one")
    }

    /// Servers delete a cookie with a date in the past, in one of several formats.
    @Test(arguments: [
        "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01-Jan-70 00:00:00 GMT", "Fri, 31 Dec 1999 23:59:59 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Mon, 01 Jan 1900 00:00:00 GMT",
        "Wed, 31 Dec 2025 23:59:59 GMT",
    ]) func aDateInThePastDeletesACookie(_ date: String) throws {
        // 2026-01-01.
        let jar = CookieJar { 1_767_225_600 }
        let address = try #require(WebAddress("http://a.org/"))
        jar.store("a=1; Expires=Wed, 01 Jan 2070 00:00:00 GMT", from: address)
        #expect(jar.all.map(\.expiry) == [3_155_760_000])
        jar.store("a=; Expires=\(date)", from: address)
        #expect(jar.all.isEmpty)
        jar.store("a=1; Expires=\(date); Max-Age=5", from: address)
        jar.store("b=1; Max-Age=5; Expires=\(date)", from: address)
        #expect(jar.all.map(\.expiry) == [1_767_225_605, 1_767_225_605])
    }

    @Test(arguments: [
        "", "soon", "32 Jan 2000 00:00:00", "01 Jan 2000", "01 Jan 2000 24:00:00", "01 Jan 1600 00:00:00",
        "01 Xyz 2000 00:00:00", "01 Jan 99999999999999999999 00:00:00", "1:2:99999999999999999999 1 jan 2000",
    ]) func anInvalidDateIsIgnored(_ date: String) throws {
        let jar = CookieJar { 1000 }
        jar.store("a=1; Expires=\(date)", from: try #require(WebAddress("http://a.org/")))
        #expect(jar.all.map(\.expiry) == [nil])
    }

    @Test(arguments: ["co.uk", ".co.uk", "com.au", "ac.jp"]) func noServerSetsCookiesForAPublicSuffix(
        _ domain: String
    ) throws {
        let jar = CookieJar { 1000 }
        let suffix = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        jar.store("a=1; Domain=\(domain); Path=/", from: try #require(WebAddress("http://film.example.\(suffix)/")))
        #expect(jar.all.isEmpty)
        jar.store(
            "b=2; Domain=example.\(suffix); Path=/", from: try #require(WebAddress("http://film.example.\(suffix)/")))
        #expect(line(jar, "http://other.example.\(suffix)/") == "b=2")
        // A host with exactly that name sets host-only cookies.
        jar.store("c=3; Domain=\(domain); Path=/", from: try #require(WebAddress("http://\(suffix)/")))
        #expect(line(jar, "http://\(suffix)/") == "c=3" && line(jar, "http://evil.\(suffix)/") == nil)
        jar.add(listed: "d=4; Domain=.\(suffix); Path=/")
        #expect(line(jar, "http://evil.\(suffix)/") == nil)
        #expect(PublicSuffix.isCountryCategory(suffix) && !PublicSuffix.isCountryCategory("example.org"))
    }

    @Test func aJarIsBounded() throws {
        let jar = CookieJar { 0 }
        let address = try #require(WebAddress("http://a.org/"))
        for number in 0..<(CookieJar.maxCookies + 10) { jar.store("n\(number)=1", from: address) }
        #expect(jar.all.count == CookieJar.maxCookies)
        #expect(try #require(jar.header(for: address)).utf8.count < 4096)
    }
}
