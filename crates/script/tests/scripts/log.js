// {"logging": true}
function () {
    var x = 1;
    console.log('The value of x is %s.', x);
    console.log(' 100%% ');
    console.log('%s%% of %s and %s', 50, { a: 1 });
    console.log([1, 2]);
    console.log('\ud83d');
    var seen = [];
    try { console.log(); } catch (e) { seen.push([e.number, e.message]); }
    try { console.log(1, 2); } catch (e) { seen.push([e.number, e.message]); }
    __.response.setBody(seen);
}
