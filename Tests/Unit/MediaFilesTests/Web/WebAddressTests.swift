import MediaCore
import Testing

@testable import MediaFiles

@Suite struct WebAddressTests {
    @Test func anAddressIsTakenApart() throws {
        let address = try #require(WebAddress("HTTPS://anna:se%63ret@Film.example.org:8443/a b/ü?q=\"1\"#part"))
        #expect(address.isSecure && address.host == "film.example.org" && address.port == 8443)
        #expect(address.credentials == "anna:secret")
        #expect(address.target == "/a%20b/%C3%BC?q=%221%22")
        #expect(try #require(WebAddress("http://[::1]:80")).text == "http://[::1]/")
        for wrong in [
            "ftp://a/", "http://", "http:///a", "http://a b/", "http://a:0/", "http://a:70000/", "http://[::1/",
            "http://a\r\nb/",
            "http://" + String(repeating: "a", count: 300) + "/", "http://a:x/",
        ] { #expect(WebAddress(wrong) == nil, "\(wrong)") }
    }

    /// RFC 3986, 5.4.1, the examples relevant for http.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
        (";x", "http://a/b/c/;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("..", "http://a/b/"),
        ("../g", "http://a/b/g"), ("../../../g", "http://a/g"), ("https://h/i", "https://h/i"),
        ("g?a/../b", "http://a/b/c/g?a/../b"),
    ]) func aReferenceLeadsOn(_ reference: String, _ text: String) {
        #expect(WebAddress("http://a/b/c/d;p?q")?.resolving(reference)?.text == text)
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://a/", "javascript:x", "data:,x"])
    func aReferenceLeadsNowhereButToTheWeb(_ reference: String) {
        #expect(WebAddress("http://a/b")?.resolving(reference) == nil)
    }

    @Test func homeIsTheSameServerWithNoWeakerProtection() throws {
        let home = try #require(WebAddress("https://a.org/x"))
        for (other, isHome) in [
            ("https://a.org/y", true), ("https://A.org:443/y", true), ("http://a.org/x", false),
            ("https://b.a.org/x", false),
            ("https://a.org:8443/x", false), ("https://a.org:80/x", false),
        ] { #expect(home.isHome(of: try #require(WebAddress(other))) == isHome, "\(other)") }
        for (own, other, isHome) in [
            ("http://a.org:443/", "http://a.org:80/", false), ("http://a.org:80/", "http://a.org:443/", false),
            ("http://a.org:443/", "https://a.org/", true), ("http://a.org:8080/", "https://a.org/", false),
            ("https://a.org:80/", "https://a.org:443/", false),
        ] {
            let (own, other) = (try #require(WebAddress(own)), try #require(WebAddress(other)))
            #expect(own.isHome(of: other) == isHome, "\(own.text) \(other.text)")
        }
        #expect(try #require(WebAddress("http://a.org/")).isHome(of: try #require(WebAddress("https://a.org/"))))
    }

    @Test func headerFieldsAreAListAsMpvHasIt() throws {
        let fields = try HeaderField.list(parsing: #"X-One: a\, b,Authorization: Bearer x\\y,,Accept: text/\*"#)
        #expect(fields.map(\.name) == ["X-One", "Authorization", "Accept"])
        #expect(fields.map(\.value) == ["a, b", #"Bearer x\y"#, #"text/\*"#])
        #expect(fields.map(\.isSecret) == [true, true, false])
        for wrong in [
            "no colon", "a b: c", "X: a\r\nY: b", "Host: a", "Range: bytes=0-", ": x",
            "X: " + String(repeating: "a", count: 9000),
        ] {
            #expect(throws: ValueError.self) { try HeaderField.list(parsing: wrong) }
        }
    }
}
