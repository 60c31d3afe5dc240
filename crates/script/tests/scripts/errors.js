function () {
    var seen = {};
    var numbered = new Error(404, 'gone');
    seen.numbered = [numbered.number, numbered.message, numbered.body, String(numbered), numbered instanceof Error];
    seen.called = Error(412, 'called').number;
    seen.plain = [new Error('a').message, new Error('a').number === undefined, new Error(5).message];
    class Own extends Error { constructor() { super(409, 'own'); this.name = 'Own'; } }
    var own = new Own();
    seen.own = [own.number, String(own), own instanceof Own, own instanceof Error, own.constructor === Own];
    seen.types = [new TypeError('t') instanceof Error, Object.prototype.toString.call(numbered)];
    seen.codes = ErrorCodes;
    try { (function () { 'use strict'; ErrorCodes.BadRequest = 1; })(); } catch (e) { seen.frozen = e.name; }
    seen.cause = new Error('a', { cause: 'b' }).cause;
    __.response.setBody(seen);
}
