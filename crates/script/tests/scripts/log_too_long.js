// {"logging": true}
function () {
    console.log('fits');
    try { for (;;) console.log('0123456789'.repeat(100)); } catch (e) { __.response.setBody([e.number, e.message]); }
    getContext().getResponse().setBody(__.response.getBody().concat('and goes on'));
    throw new Error('after the flood');
}
