function () {
    throw { number: 449, body: 'try again' };
}
