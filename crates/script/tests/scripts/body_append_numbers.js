function () {
    for (i = 0; i < 10; i++) getContext().getResponse().appendValue('Body', i);
}
