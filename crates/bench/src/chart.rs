//! Lines in a frame, as SVG: scales, marks, paths. It knows nothing of what the numbers mean.

use std::fmt::Write;

/// A picture of some lines.
pub(crate) struct Chart<'a> {
    pub(crate) lines: Vec<Line>,
    pub(crate) up: Scale,
    /// Marks on the axis across, with their names.
    pub(crate) across: Vec<(f64, String)>,
    /// What a value upwards is called.
    pub(crate) name: &'a dyn Fn(f64) -> String,
}

/// One line.
pub(crate) struct Line {
    pub(crate) class: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// How values upwards are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Each from zero.
    FromZero,
    /// Each power of ten as high as the next.
    Powers,
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 28.0;

/// What a picture shows, from the least to the greatest.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let none = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        let range = values.filter(|value| value.is_finite()).fold(none, |range, value| Self {
            low: range.low.min(value),
            high: range.high.max(value),
        });
        if range.low > range.high { Self { low: 0.0, high: 1.0 } } else { range }
    }

    /// Where between nothing and one a value is.
    fn share(self, value: f64) -> f64 {
        let length = self.high - self.low;
        if length > 0.0 { ((value - self.low) / length).clamp(0.0, 1.0) } else { 0.5 }
    }
}

impl Chart<'_> {
    /// The picture.
    pub(crate) fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let across = Range::of(points().map(|(x, _)| *x));
        let up = self.range_up(points().map(|(_, y)| *y));
        let x = |value: f64| LEFT + across.share(value) * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - up.share(self.bent(value)) * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">");
        // Writing to a string cannot fail.
        for value in self.marks_up(up) {
            let (at, name, end) = (y(value), (self.name)(value), WIDTH - RIGHT);
            _ = write!(
                svg,
                "<path class=axis d=\"M{LEFT} {at:.1}H{end}\"/>\
                 <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
                LEFT - 8.0,
                at + 4.0
            );
        }
        for (value, name) in &self.across {
            if *value < across.low - 1e-9 || *value > across.high + 1e-9 {
                continue;
            }
            _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{name}</text>",
                x(*value),
                HEIGHT - 8.0
            );
        }
        for line in &self.lines {
            self.draw(&mut svg, line, &x, &y);
        }
        svg.push_str("</svg>");
        svg
    }

    fn draw(&self, svg: &mut String, line: &Line, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) {
        let is_drawn = |(_, value): &&(f64, f64)| {
            value.is_finite() && (*value > 0.0 || self.up == Scale::FromZero)
        };
        let mut path = String::new();
        for (index, (across, value)) in line.points.iter().filter(is_drawn).enumerate() {
            let order = if index == 0 { 'M' } else { 'L' };
            _ = write!(path, "{order}{:.1} {:.1}", x(*across), y(*value));
        }
        if !path.is_empty() && line.points.len() == 1 {
            // A line of one point cannot be seen.
            path.push_str("h6");
        }
        if !path.is_empty() {
            _ = write!(svg, "<path class=\"line {}\" d=\"{path}\"/>", line.class);
        }
    }

    fn bent(&self, value: f64) -> f64 {
        match self.up {
            Scale::FromZero => value,
            Scale::Powers => value.max(1.0).log10(),
        }
    }

    fn range_up(&self, values: impl Iterator<Item = f64>) -> Range {
        let range = Range::of(values.map(|value| self.bent(value)));
        match self.up {
            Scale::FromZero => Range { low: 0.0, high: (range.high * 1.05).max(1e-9) },
            // At least one power, so that noise does not look like a mountain.
            Scale::Powers if range.high - range.low < 1.0 => {
                let middle = (range.high + range.low) / 2.0;
                Range { low: (middle - 0.5).max(0.0), high: middle + 0.5 }
            }
            Scale::Powers => range,
        }
    }

    fn marks_up(&self, up: Range) -> Vec<f64> {
        match self.up {
            Scale::FromZero => {
                let power = 10_f64.powf(up.high.log10().floor());
                let steps = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0].map(|step| step * power);
                let step = steps.into_iter().find(|step| up.high / step <= 6.0).unwrap_or(power);
                (0..=6).map(|index| f64::from(index) * step).filter(|it| *it <= up.high).collect()
            }
            Scale::Powers => {
                let powers = up.low.floor() as i32..=up.high.ceil() as i32;
                let marks =
                    powers.flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10_f64.powi(power)));
                let marks = marks.filter(|mark| (up.low..=up.high).contains(&mark.log10()));
                let marks: Vec<f64> = marks.collect();
                if marks.len() <= 8 {
                    return marks;
                }
                let is_power = |mark: &f64| (mark.log10() - mark.log10().round()).abs() < 1e-9;
                marks.into_iter().filter(is_power).collect()
            }
        }
    }
}
