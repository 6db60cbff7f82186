/// The page for a browser: one document without a framework.
///
/// Texts of films and speakers become text of elements, never markup.
enum RemotePageContent {
    static let text = #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Talkie</title>
        <style>
        :root { color-scheme: dark; }
        * { box-sizing: border-box; }
        body { margin: 0 auto; max-width: 40rem; padding: 1rem; background: #14161a; color: #e8eaed;
          font: 1rem/1.4 system-ui, sans-serif; }
        h1 { font-size: 1.2rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
        h2 { font-size: .9rem; margin: 1.5rem 0 .3rem; color: #9aa0a6; font-weight: 600; }
        button, select { font: inherit; color: inherit; background: #2a2e35; border: 0; border-radius: .6rem;
          padding: .7rem .9rem; }
        button:active { background: #3a404a; }
        button:disabled { opacity: .4; }
        select { width: 100%; }
        input[type=range] { width: 100%; height: 2.2rem; accent-color: #4aa3ff; margin: 0; }
        input[type=checkbox] { width: 1.4rem; height: 1.4rem; accent-color: #4aa3ff; flex: none; }
        .row { display: flex; align-items: center; gap: .6rem; }
        .row > .wide { flex: 1; min-width: 0; }
        #times { justify-content: space-between; font-variant-numeric: tabular-nums; color: #9aa0a6; }
        #keys { justify-content: space-between; margin: .5rem 0; }
        #keys button { flex: 1; font-size: 1.2rem; padding: .8rem 0; }
        #play { background: #4aa3ff; color: #06121f; }
        svg { width: 1.4rem; height: 1.4rem; vertical-align: middle; fill: currentColor; stroke: currentColor;
          stroke-width: 1.5; stroke-linejoin: round; stroke-linecap: round; }
        #message { position: sticky; top: 0; padding: .4rem .6rem; border-radius: .6rem; background: #5c3b00; }
        #message:empty { display: none; }
        ol, ul { list-style: none; margin: 0; padding: 0; }
        #list button { width: 100%; text-align: left; background: none; padding: .5rem .6rem; overflow-wrap: anywhere; }
        #list [aria-current] { background: #2a2e35; color: #4aa3ff; }
        #rooms li { padding: .3rem 0; }
        #rooms small { color: #9aa0a6; }
        #picture img { width: 100%; border-radius: .6rem; margin-top: .5rem; }
        [hidden] { display: none !important; }
        </style>
        </head>
        <body>
        <p id="message" role="status">Connecting …</p>
        <h1 id="title">Talkie</h1>
        <input id="seek" type="range" min="0" max="1" step="any" value="0" aria-label="Position">
        <div id="times" class="row"><span id="position">0:00</span><span id="duration"></span></div>
        <div id="keys" class="row">
        <button id="previous" aria-label="Previous film">
        <svg viewBox="0 0 24 24"><path d="M5 5v14M19 5v14l-10-7z"/></svg></button>
        <button id="back" aria-label="Back 10 seconds">−10</button>
        <button id="play" aria-label="Play"><svg viewBox="0 0 24 24"><path id="playIcon"/></svg></button>
        <button id="forward" aria-label="Forward 10 seconds">+10</button>
        <button id="next" aria-label="Next film">
        <svg viewBox="0 0 24 24"><path d="M19 5v14M5 5v14l10-7z"/></svg></button>
        </div>
        <div class="row">
        <button id="mute" aria-label="Mute"><svg viewBox="0 0 24 24"><path id="muteIcon"/></svg></button>
        <input id="volume" class="wide" type="range" min="0" max="130" step="1" aria-label="Volume">
        <span id="percent"></span>
        </div>
        <section id="health" hidden><h2>Kiosk</h2><p></p></section>
        <section id="roomsSection" hidden><h2>Rooms</h2><ul id="rooms"></ul>
        <button id="find">Find speakers</button></section>
        <section id="soundSection" hidden><h2>Sound</h2><select id="sound" aria-label="Sound track"></select></section>
        <section id="subtitlesSection" hidden><h2>Subtitles</h2>
        <select id="subtitles" aria-label="Subtitles"></select></section>
        <section id="listSection" hidden><h2>List</h2><ol id="list"></ol></section>
        <section id="picture"><h2>Picture</h2><button id="take">Show the screen</button></section>
        <script>
        "use strict";
        const $ = id => document.getElementById(id);
        const state = {};
        let received = 0;   // When the position was received.
        let dragged = null; // The slider that is being moved.

        function showMessage(text) { $("message").textContent = text; }

        async function send(...words) {
          try {
            const response = await fetch("command", { method: "POST", body: JSON.stringify(words) });
            const error = (await response.json()).error || "";
            showMessage(error);
            return !error;
          } catch { showMessage("Talkie does not answer."); }
          return false;
        }

        // Sends the latest value of a slider once the previous one is answered.
        const waiting = new Map();
        function slide(name, ...words) {
          if (waiting.has(name)) { waiting.set(name, words); return; }
          waiting.set(name, null);
          send(...words).then(() => {
            const next = waiting.get(name);
            waiting.delete(name);
            if (next) slide(name, ...next);
          });
        }

        function onSlide(slider, moved, released) {
          slider.addEventListener("input", () => { dragged = slider; moved(Number(slider.value)); });
          slider.addEventListener("change", () => { dragged = null; released(Number(slider.value)); show(); });
        }

        function clock(seconds) {
          const whole = Math.max(0, Math.floor(seconds)), hours = Math.floor(whole / 3600);
          const two = number => String(number).padStart(2, "0");
          const rest = two(whole % 60), minutes = Math.floor(whole / 60) % 60;
          return hours ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
        }

        function position() {
          let now = state["time-pos"] ?? 0;
          if (!state["core-idle"]) now += (performance.now() - received) / 1000 * (state.speed ?? 1);
          return state.duration == null ? now : Math.min(now, state.duration);
        }

        function can(command) { return (state.commands ?? []).includes(command); }
        function canSet(property) { return can("set") && (state.settable ?? []).includes(property); }

        function showPosition() {
          const isOpen = state["time-pos"] != null;
          $("seek").disabled = !isOpen || !state.duration || !can("seek");
          $("seek").max = state.duration || 1;
          if (dragged !== $("seek")) $("seek").value = isOpen ? position() : 0;
          $("position").textContent = clock(Number(dragged === $("seek") ? $("seek").value : position()));
          $("duration").textContent = state.duration ? clock(state.duration) : "";
        }

        function element(name, text, ...children) {
          const made = document.createElement(name);
          if (text) made.textContent = text;
          made.append(...children);
          return made;
        }

        function showRooms() {
          const rooms = state["audio-device-list"] ?? [];
          $("roomsSection").hidden = !rooms.length;
          const selected = rooms.filter(room => room.selected).map(room => room.name);
          $("rooms").replaceChildren(...rooms.map(room => {
            const box = element("input"), note = [room.language, room.pending, room.problem, room.obstacle]
              .filter(Boolean);
            box.type = "checkbox";
            box.checked = room.selected;
            box.disabled = Boolean(room.obstacle) && !room.selected;
            box.addEventListener("change", () => {
              const others = selected.filter(name => name !== room.name);
              const names = box.checked ? [...others, room.name] : others;
              if (names.length) send("set", "audio-device", names.join(",")); else showMessage("Select at least one room.");
              showRooms();
            });
            const label = element("label", "", box, element("span", room.description),
              ...(note.length ? [element("small", note.join(" · "))] : []));
            label.className = "row";
            const item = element("li", "", label);
            if (room.pairing && can("pair-output")) {
              const button = element("button", room.pairing === "pin" ? "Enter PIN" : "Enter password");
              button.addEventListener("click", () => pair(room));
              item.append(button);
            }
            if (room.selected && room.lang && can("output-language")) {
              const select = element("select");
              select.setAttribute("aria-label", `Language of ${room.description}`);
              const choices = new Map([[room.lang, room.language ?? "Language"]]);
              for (const track of (state["track-list"] ?? []).filter(track => track.type === "audio")) {
                const choice = [track.purpose, track.lang].filter(Boolean).join(",") || "main";
                choices.set(choice, labels(track).join(", ") || "Language");
              }
              select.replaceChildren(...[...choices].map(
                ([choice, label]) => new Option(label, choice, false, choice === room.lang)));
              select.addEventListener("change", () => send("output-language", room.name, select.value));
              item.append(select);
            }
            if (room.selected) {
              const slider = element("input");
              slider.type = "range";
              slider.max = 130;
              slider.disabled = room.volume == null;
              slider.value = room.volume ?? 0;
              slider.setAttribute("aria-label", `Volume of ${room.description}`);
              const change = value => slide("volume of " + room.name, "output-volume", room.name, value);
              onSlide(slider, change, change);
              item.append(slider);
            }
            return item;
          }));
        }

        async function pair(room) {
          if (room.pairing === "pin" && !await send("pair-output", room.name)) return;
          const code = prompt(room.pairing === "pin"
            ? `PIN that ${room.description} shows` : `Password of ${room.description}`);
          if (code && await send("pair-output", room.name, code)) showMessage(`${room.description} is paired.`);
        }

        function languageName(code) {
          try { return new Intl.DisplayNames(["en"], { type: "language" }).of(code); } catch { return code; }
        }

        const purposes = {
          description: "audio description", "hearing-impaired": "for the hard of hearing", effects: "music and effects"
        };

        function labels(track, title = "") {
          const purpose = purposes[track.purpose] ?? track.purpose;
          return [track.lang && languageName(track.lang), title, !title.toLowerCase().includes(purpose) && purpose]
            .filter(Boolean);
        }

        function trackName(track) {
          return labels(track, track.title).join(" · ") || `Track ${track.id}`;
        }

        function showTracks() {
          const tracks = state["track-list"] ?? [];
          const sounds = tracks.filter(track => track.type === "audio");
          const texts = tracks.filter(track => track.type === "sub");
          const option = (track, isSelected) => new Option(trackName(track), track.id, false, isSelected);
          $("soundSection").hidden = sounds.length < 2 || !canSet("aid");
          $("sound").replaceChildren(...sounds.map(track => option(track, track.selected)));
          $("subtitlesSection").hidden = !texts.length || !canSet("sid");
          const shown = state["sub-visibility"] ? texts.find(track => track.selected) : null;
          $("subtitles").replaceChildren(
            new Option("Off", "no", false, !shown), ...texts.map(track => option(track, track === shown)));
        }

        function showList() {
          const films = state.playlist ?? [];
          $("listSection").hidden = films.length < 2;
          $("list").replaceChildren(...films.map(film => {
            const button = element("button", film.title);
            button.disabled = !can("playlist-play-index");
            if (film.current) button.setAttribute("aria-current", "true");
            button.addEventListener("click", () => send("playlist-play-index", film.index));
            return element("li", "", button);
          }));
        }

        // Lists are not rebuilt without a change: one of them may be open.
        function show(changes = state) {
          $("title").textContent = state["media-title"] || "Talkie";
          document.title = (state["media-title"] ? state["media-title"] + " – " : "") + "Talkie";
          const isPaused = state.pause !== false;
          $("playIcon").setAttribute("d", isPaused ? "M7 5v14l11-7z" : "M6 5h3v14h-3zM15 5h3v14h-3z");
          $("play").setAttribute("aria-label", isPaused ? "Play" : "Pause");
          $("back").hidden = $("forward").hidden = !can("seek");
          $("mute").hidden = !canSet("mute");
          const speaker = "M4 10v4h3l4 4v-12l-4 4z";
          $("muteIcon").setAttribute("d", speaker + (state.mute ? "M15 9l6 6M21 9l-6 6" : "M15 9v6M19 7v10"));
          $("mute").setAttribute("aria-label", state.mute ? "Unmute" : "Mute");
          $("volume").disabled = state.volume == null;
          $("volume").max = state["volume-max"] ?? 130;
          if (dragged !== $("volume")) $("volume").value = state.volume ?? 0;
          $("percent").textContent = state.volume == null ? "" : Math.round(state.volume) + " %";
          $("health").hidden = state.health == null;
          $("health").lastChild.textContent = state.health ?? "";
          showPosition();
          if (dragged) return;
          if ("audio-device-list" in changes) showRooms();
          if ("track-list" in changes) showRooms();
          if ("track-list" in changes || "sub-visibility" in changes) showTracks();
          if ("playlist" in changes) showList();
        }

        $("play").addEventListener("click", () => send("set", "pause", state.pause === false));
        $("previous").addEventListener("click", () => send("playlist-prev"));
        $("next").addEventListener("click", () => send("playlist-next"));
        $("back").addEventListener("click", () => send("seek", -10));
        $("forward").addEventListener("click", () => send("seek", 10));
        $("mute").addEventListener("click", () => send("set", "mute", !state.mute));
        $("find").addEventListener("click", () => send("find-outputs"));
        $("sound").addEventListener("change", () => send("set", "aid", Number($("sound").value)));
        $("subtitles").addEventListener("change", async () => {
          const number = $("subtitles").value;
          await send("set", "sid", number === "no" ? false : Number(number));
          if (number !== "no" && !state["sub-visibility"]) send("set", "sub-visibility", true);
        });
        onSlide($("seek"), showPosition, value => send("seek", value, "absolute"));
        const changeVolume = value => slide("volume", "set", "volume", value);
        onSlide($("volume"), changeVolume, changeVolume);
        $("take").addEventListener("click", async () => {
          const image = new Image();
          image.alt = "The screen";
          image.onload = () => { $("picture").querySelector("img")?.remove(); $("picture").append(image); };
          image.onerror = () => showMessage("There is no picture.");
          image.src = "screenshot.png?" + Date.now();
        });

        function connect() {
          const events = new EventSource("events");
          events.onopen = () => showMessage("");
          events.onmessage = event => {
            const changes = JSON.parse(event.data);
            Object.assign(state, changes);
            received = performance.now();
            show(changes);
          };
          events.onerror = () => {
            showMessage("Not connected: Talkie is not running or not reachable.");
            if (events.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
          };
        }
        setInterval(() => { if (!document.hidden && !state["core-idle"]) showPosition(); }, 250);
        connect();
        </script>
        </body>
        </html>
        """#
}
