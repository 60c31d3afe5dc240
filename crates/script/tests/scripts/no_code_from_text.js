function () {
    var seen = [];
    [
        function () { return eval('1'); },
        function () { return new Function('return 1')(); },
        function () { return (async function () {}).constructor('return 1'); },
        function () { return (function* () {}).constructor('return 1'); },
    ].forEach(function (attempt) {
        try { attempt(); seen.push('ran'); } catch (e) { seen.push(e.name); }
    });
    __.response.setBody(seen);
}
